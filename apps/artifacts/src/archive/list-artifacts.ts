import type { Actor, ArtifactRecord } from '@toolfabric/contract';
import { FabricError } from '@toolfabric/kernel';
import { mayRead } from './access.ts';
import { type ArchiveContext, indexOf, isExpired } from './archive-context.ts';
import { isSnapshot } from './stored-record.ts';

export interface ListFilter {
  readonly taskId?: string | undefined;
  readonly callId?: string | undefined;
  /** `next` of the page before. */
  readonly after?: string | undefined;
  readonly limit: number;
}

const CURSOR = /^(\d{1,15})\.(a-[0-9a-z]{26})$/;

type Place = readonly [createdAt: number, id: string];
const placeOf = ({ createdAt, id }: ArtifactRecord): Place => [createdAt, id];
/** Newest first. */
const compare = (a: Place, b: Place): number => b[0] - a[0] || (a[1] < b[1] ? -1 : a[1] > b[1] ? 1 : 0);

const parseCursor = (after: string | undefined): Place | undefined => {
  if (after === undefined) return undefined;
  const [, createdAt, id] = CURSOR.exec(after) ?? [];
  if (createdAt === undefined || id === undefined) throw new FabricError('invalid_request', 'not a place in a list');
  return [Number(createdAt), id];
};

/** What the actor may read, newest first; snapshots are not told. `next` is there when there is more. */
export const listArtifacts = (
  ctx: ArchiveContext,
  actor: Actor,
  { taskId, callId, after, limit }: ListFilter,
): { artifacts: ArtifactRecord[]; next?: string } => {
  const index = indexOf(ctx, actor.tenant);
  const from = parseCursor(after);
  const now = ctx.clock.now();
  const found: ArtifactRecord[] = [];
  for (const stored of index.of({ taskId, callId })) {
    const { record } = stored;
    if (isSnapshot(stored) || !mayRead(stored, actor) || isExpired(index, stored, now)) continue;
    if (taskId !== undefined && record.taskId !== taskId) continue;
    if (from && compare(placeOf(record), from) <= 0) continue;
    found.push(record);
  }
  const artifacts = found.sort((a, b) => compare(placeOf(a), placeOf(b))).slice(0, limit);
  const last = artifacts.at(-1);
  return found.length > artifacts.length && last ? { artifacts, next: `${last.createdAt}.${last.id}` } : { artifacts };
};
