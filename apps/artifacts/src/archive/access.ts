import type { Actor, ArtifactPermit } from '@toolfabric/contract';
import { FabricError } from '@toolfabric/kernel';
import { isSnapshot, type StoredRecord } from './stored-record.ts';

export type CallPermit = Extract<ArtifactPermit, { action: 'call' }>;

/** One answer for what is not there and for what the asker may not know of. */
export const noSuchArtifact = (): FabricError => new FabricError('not_found', 'there is no such artifact');

export const isOwner = ({ owner }: StoredRecord['record'], actor: Actor): boolean =>
  owner.tenant === actor.tenant && owner.user === actor.user && owner.agent === actor.agent;

/** RS-4: the owner, or whom the owner named, and nobody of another tenant. */
export const mayRead = ({ record }: StoredRecord, actor: Actor): boolean =>
  isOwner(record, actor) ||
  (record.owner.tenant === actor.tenant &&
    record.sharedWith.some(
      ({ user, agent }) => (user ?? actor.user) === actor.user && (agent ?? actor.agent) === actor.agent,
    ));

/** A worker reads what its own call wrote, and the snapshots of its own workspace. */
export const callMayRead = (stored: StoredRecord, permit: CallPermit): boolean => {
  if (stored.record.owner.tenant !== permit.actor.tenant) return false;
  if (isSnapshot(stored)) return stored.workspace === permit.workspace;
  return stored.record.callId === permit.callId;
};

/** Throws `not_found` for whom the artifact does not exist, `forbidden` for a reader who does not own it. */
export const checkManage = (stored: StoredRecord, actor: Actor): void => {
  if (!mayRead(stored, actor)) throw noSuchArtifact();
  if (!isOwner(stored.record, actor)) throw new FabricError('forbidden', 'only the owner may change an artifact');
  if (isSnapshot(stored)) throw new FabricError('forbidden', 'a snapshot belongs to its workspace');
};
