import type { Clock, Faults, Logger, Pace } from '@toolfabric/kernel';
import type { ByteStore } from './byte-store.ts';
import { openDirectoryStore } from './directory/directory-store.ts';
import type { S3Config } from './s3/s3-config.ts';

export type StoreConfig =
  | { readonly type: 'directory'; readonly directory: string }
  | ({ readonly type: 's3' } & S3Config);

/** Opens the store that the configuration names, for this process alone. */
export const openStore = async (
  { store, pace, faults }: { readonly store: StoreConfig; readonly pace: Pace; readonly faults: Faults },
  logger: Logger,
  clock: Clock,
): Promise<ByteStore> => {
  if (store.type === 'directory') return openDirectoryStore(store.directory, faults);
  // The client of S3 is large: only who uses it pays for it.
  const { openS3Store } = await import('./s3/open-s3-store.ts');
  return openS3Store(store, { pace, faults, logger, clock });
};
