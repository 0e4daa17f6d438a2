import type { Stats } from 'node:fs';
import { FabricError } from '@toolfabric/kernel';
import type { User } from '../process/run-process.ts';

const BIT = { read: 4, write: 2, enter: 1 } as const;

/** Whether the permission bits let `user` do it. Root may everything. */
export const mayAccess = (stats: Pick<Stats, 'uid' | 'gid' | 'mode'>, user: User, right: keyof typeof BIT): boolean => {
  if (user.uid === 0) return true;
  const shift = stats.uid === user.uid ? 6 : stats.gid === user.gid ? 3 : 0;
  return ((stats.mode >> shift) & BIT[right]) !== 0;
};

export const notPermitted = (what: string, cause?: unknown): FabricError =>
  new FabricError('permission_denied', `the user of the workspace may not ${what}`, { cause });
