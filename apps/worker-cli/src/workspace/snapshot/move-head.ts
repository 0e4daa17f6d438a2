import type { WorkspaceHead } from '@toolfabric/contract';
import type { Clock } from '@toolfabric/kernel';
import { type ArtifactSession, RevisionConflict, StoreUnavailable } from '@toolfabric/ports';
import { loadSnapshot } from './load-snapshot.ts';
import type { SnapshotLimits } from './snapshot-limits.ts';

/** `unknown`: it was asked for, and nobody can say whether it was done. */
export type Moved = { readonly result: 'moved' | 'unknown' } | { readonly result: 'lost' };

export interface MoveRequest {
  readonly session: ArtifactSession;
  readonly workspace: string;
  /** The head that the new snapshot is built on: nobody else may have moved it since. */
  readonly from: WorkspaceHead;
  readonly manifest: string;
  /** Snapshots that it needs beside itself. */
  readonly keeps: readonly string[];
  readonly limits: SnapshotLimits;
  readonly clock: Clock;
  readonly signal: AbortSignal;
}

/** Milliseconds: one question, and all of them together. */
const ONE_MS = 8_000;
const ALL_MS = 20_000;
const PAUSE_MS = 250;

/** Whether the snapshot is the newest or among those that the newest was built on. */
const isKept = async ({ session, workspace, manifest, limits }: MoveRequest, signal: AbortSignal): Promise<boolean> => {
  const head = await session.head(signal);
  if (head.manifest === undefined || head.manifest === manifest) return head.manifest === manifest;
  const newest = await loadSnapshot(session, workspace, head.manifest, limits, signal);
  return newest.header.history.some((ancestor) => ancestor.manifest === manifest);
};

/**
 * Makes the snapshot the newest one, unless somebody else has moved the head: the fence of all who write in a
 * workspace (protocol 12). Once it was asked for, only an answer tells; it is asked again until there is one, but not
 * beyond the signal.
 */
export const moveToSnapshot = async (request: MoveRequest): Promise<Moved> => {
  const { session, from, manifest, keeps, clock, signal } = request;
  const until = clock.monotonic() + ALL_MS;
  for (;;) {
    const patience = AbortSignal.timeout(ONE_MS);
    try {
      await session.moveHead(from.generation, manifest, patience, keeps);
      return { result: 'moved' };
    } catch (thrown) {
      if (!(thrown instanceof RevisionConflict) && !isOutage(thrown, patience)) throw thrown;
      const kept =
        thrown instanceof RevisionConflict ? await isKept(request, patience).catch(() => undefined) : undefined;
      if (kept !== undefined) return { result: kept ? 'moved' : 'lost' };
    }
    if (signal.aborted || clock.monotonic() > until) return { result: 'unknown' };
    await clock.sleep(PAUSE_MS, signal);
  }
};

const isOutage = (thrown: unknown, patience: AbortSignal): boolean =>
  thrown instanceof StoreUnavailable || patience.aborted;

/** Times that the head is looked at anew when somebody else moved it meanwhile. */
const MOST_RAISES = 8;

/**
 * Raises the generation and keeps the newest snapshot: whoever began before that can move the head no more. Throws
 * `StoreUnavailable` when it is not known whether that was done.
 */
export const raiseGeneration = async (session: ArtifactSession, signal: AbortSignal): Promise<WorkspaceHead> => {
  for (let round = 0; round < MOST_RAISES; round += 1) {
    const { generation } = await session.head(signal);
    try {
      return await session.moveHead(generation, undefined, signal);
    } catch (thrown) {
      if (!(thrown instanceof RevisionConflict)) throw thrown;
    }
  }
  throw new StoreUnavailable('the head of the workspace does not stand still');
};
