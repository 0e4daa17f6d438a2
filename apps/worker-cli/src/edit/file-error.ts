import { FabricError } from '@toolfabric/kernel';

const FULL = new Set(['ENOSPC', 'EDQUOT']);
const FORBIDDEN = new Set(['EACCES', 'EPERM', 'EROFS']);

/** What the file system said, as an error that a caller can act on; anything else as it is. */
export const fileError = (thrown: unknown): unknown => {
  if (thrown instanceof FabricError || !(thrown instanceof Error)) return thrown;
  const { code = '' } = thrown as NodeJS.ErrnoException;
  if (FULL.has(code)) return new FabricError('tool_failed', 'the disk of the workspace is full', { cause: thrown });
  if (FORBIDDEN.has(code)) {
    return new FabricError('permission_denied', 'the file system does not let the file be changed', { cause: thrown });
  }
  if (code === 'EEXIST') {
    return new FabricError('stale_version', 'a file appeared where the new one was to be made', { cause: thrown });
  }
  return thrown;
};
