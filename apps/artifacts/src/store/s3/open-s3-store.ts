import type { Clock, Faults, Logger, Pace } from '@toolfabric/kernel';
import type { ByteStore } from '../byte-store.ts';
import type { S3Config } from './s3-config.ts';

export interface S3Surroundings {
  readonly pace: Pace;
  readonly faults: Faults;
  readonly logger: Logger;
  readonly clock: Clock;
}

export const openS3Store = async (_config: S3Config, _around: S3Surroundings): Promise<ByteStore> => {
  throw new Error('not yet');
};
