import type { Stats } from 'node:fs';
import { FabricError } from '@toolfabric/kernel';
import type { User } from '../process/run-process.ts';
import { NOBODY } from './workspace-users.ts';

const BIT = { read: 4, write: 2, enter: 1 } as const;

/**
 * Whether the permission bits let `user` do it. Where root is the owner of a workspace, it is given what belongs to
 * root; with the files of other people in there it may do no more than `nobody`.
 */
export const mayAccess = (stats: Pick<Stats, 'uid' | 'gid' | 'mode'>, user: User, right: keyof typeof BIT): boolean => {
  if (user.uid === 0 && stats.uid === 0) return true;
  const { uid, gid } = user.uid === 0 ? NOBODY : user;
  const shift = stats.uid === uid ? 6 : stats.gid === gid ? 3 : 0;
  return ((stats.mode >> shift) & BIT[right]) !== 0;
};

export const notPermitted = (what: string, cause?: unknown): FabricError =>
  new FabricError('permission_denied', `the user of the workspace may not ${what}`, { cause });
