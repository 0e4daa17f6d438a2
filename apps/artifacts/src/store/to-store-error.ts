import { FabricError } from '@toolfabric/kernel';

/** Milliseconds after which a full disk may have been looked after. */
const FULL_RETRY_MS = 5_000;
const BUSY_RETRY_MS = 1_000;

const FULL = new Set(['ENOSPC', 'EDQUOT']);
const NO_DESCRIPTORS = new Set(['EMFILE', 'ENFILE']);

const codeOf = (thrown: unknown): string =>
  thrown instanceof Error && 'code' in thrown && typeof thrown.code === 'string' ? thrown.code : '';

/** Whether something could not be opened since too much is open already. */
export const isShortOfDescriptors = (thrown: unknown): boolean => NO_DESCRIPTORS.has(codeOf(thrown));

/** What a driver threw, as its caller may hear it: never a path. */
export const toStoreError = (thrown: unknown): FabricError => {
  if (thrown instanceof FabricError) return thrown;
  const code = codeOf(thrown);
  if (FULL.has(code)) {
    return new FabricError('overloaded', 'the storage of the artifacts is full', {
      retryAfterMs: FULL_RETRY_MS,
      cause: thrown,
    });
  }
  if (isShortOfDescriptors(thrown)) {
    return new FabricError('overloaded', 'too many artifacts are open', { retryAfterMs: BUSY_RETRY_MS, cause: thrown });
  }
  if (code === 'EFBIG')
    return new FabricError('too_large', 'the storage takes no file of that size', { cause: thrown });
  return new FabricError('unavailable', 'the storage of the artifacts does not answer as it should', { cause: thrown });
};
