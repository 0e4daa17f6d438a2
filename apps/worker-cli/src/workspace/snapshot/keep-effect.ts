import { ERROR_TABLE, type Outcome, Outcome as OutcomeShape, type WorkspaceHead } from '@toolfabric/contract';
import { FabricError, toFabricError } from '@toolfabric/kernel';
import type { ArtifactSession } from '@toolfabric/ports';
import { StoreUnavailable } from '@toolfabric/ports';
import type { Redactor, ToolContext } from '@toolfabric/worker-runtime';
import { fileError } from '../../edit/file-error.ts';
import { cutText, toldError } from '../../output/told-error.ts';
import { throwIfStopped } from '../../process/stop-reason.ts';
import type { OpenWorkspace } from '../open-workspace.ts';
import { checkEntries } from './check-entries.ts';
import type { Snapshot } from './manifest.ts';
import type { Remembered } from './memory.ts';
import { moveToSnapshot } from './move-head.ts';
import { patiently } from './patience.ts';
import { descriptorOf } from './root-place.ts';
import { FileChanged, type HashCache, type ScannedTree, scanTree } from './scan-tree.ts';
import type { SnapshotLimits } from './snapshot-limits.ts';
import { hasChanged, neededBy, storeSnapshot } from './store-snapshot.ts';

export interface Keeping {
  readonly ctx: ToolContext;
  readonly session: ArtifactSession;
  readonly workspace: OpenWorkspace;
  readonly head: WorkspaceHead;
  readonly before: Snapshot | undefined;
  readonly hashes: HashCache;
  readonly limits: SnapshotLimits;
}

/** `kept`: the copy here is what the newest snapshot says, so that it counts as clean. */
export type Kept =
  | { readonly kept: true; readonly remembered: Remembered; readonly outcome: Outcome }
  | { readonly kept: false; readonly outcome: Outcome };

/** Times that a workspace which changes while it is stored is looked at anew. */
const MOST_SCANS = 3;

/** What was done stands on this disk alone and is thrown away: nothing of it happened. */
export const notKept = (redactor: Redactor, thrown: unknown): Outcome => {
  const error =
    thrown instanceof StoreUnavailable
      ? new FabricError('unavailable', 'the snapshot of the workspace could not be stored')
      : thrown instanceof FileChanged
        ? new FabricError('tool_failed', 'the workspace changes without end; a program may have survived')
        : toFabricError(fileError(thrown), 'tool_failed');
  return toldError(redactor, error, 'Nothing of this call was kept.');
};

const notKnown = (redactor: Redactor, outcome: Outcome): Outcome => ({
  status: 'unknown',
  summary: cutText(redactor, `Whether the workspace was kept is not known. ${outcome.summary}`, 4_096),
  error: {
    type: 'unavailable',
    layer: ERROR_TABLE.unavailable.layer,
    message: 'the artifact store did not say whether it took the snapshot',
    retryable: false,
  },
  sideEffect: 'possible',
  trust: 'trusted',
});

const MOST_RECEIPT_BYTES = 128 * 1024;

/** The outcome as a probe may give it back: without secrets, and in a form that can be read again. */
const receiptOf = (ctx: ToolContext, outcome: Outcome): Outcome | undefined => {
  const text = JSON.stringify(ctx.redactor.json(outcome));
  if (Buffer.byteLength(text) > MOST_RECEIPT_BYTES) return undefined;
  const parsed = OutcomeShape.safeParse(JSON.parse(text));
  return parsed.success ? parsed.data : undefined;
};

const store = async (keeping: Keeping, scan: ScannedTree, outcome: Outcome): Promise<Snapshot> => {
  const { ctx, session, workspace, head, before, limits } = keeping;
  const { callId, epoch, clock, signal } = ctx;
  const root = descriptorOf(workspace.root);
  const { found } = scan;
  const request = { session, workspace: workspace.record.id, root, before, head, callId, epoch, found, signal };
  const receipt = receiptOf(ctx, outcome);
  const snapshot = await patiently(clock, signal, () => storeSnapshot({ ...request, receipt }));
  // What nobody could restore is never made the newest one.
  checkEntries(snapshot.entries, snapshot.packs, limits);
  return snapshot;
};

const scanAndStore = async (keeping: Keeping, outcome: Outcome): Promise<Remembered> => {
  const { ctx, workspace, before, limits } = keeping;
  let { hashes } = keeping;
  for (let round = 1; ; round += 1) {
    const scan = await scanTree(descriptorOf(workspace.root), limits, hashes, ctx.signal);
    hashes = scan.cache;
    if (before !== undefined && !hasChanged(before, scan.found)) return { snapshot: before, hashes };
    ctx.faults.at('snapshot.storing');
    try {
      return { snapshot: await store(keeping, scan, outcome), hashes };
    } catch (thrown) {
      if (!(thrown instanceof FileChanged) || round >= MOST_SCANS) throw thrown;
      hashes = new Map();
    }
  }
};

/**
 * Keeps what a call did to the workspace (protocol 12): the snapshot is stored, and then the head is moved to it, unless
 * somebody else has moved it since this call began. Only then has the call happened. Never throws.
 */
export const keepEffect = async (keeping: Keeping, outcome: Outcome): Promise<Kept> => {
  const { ctx, session, workspace, head, before, limits } = keeping;
  try {
    const remembered = await scanAndStore(keeping, outcome);
    const manifest = remembered.snapshot.id;
    if (remembered.snapshot === before) return { kept: true, remembered, outcome };
    ctx.faults.at('snapshot.stored');
    throwIfStopped(ctx.signal);
    const { clock, signal } = ctx;
    const { id } = workspace.record;
    const keeps = neededBy(remembered.snapshot);
    const moved = await moveToSnapshot({ session, workspace: id, from: head, manifest, keeps, limits, clock, signal });
    ctx.faults.at('snapshot.moved');
    if (moved.result === 'moved') return { kept: true, remembered, outcome };
    if (moved.result === 'unknown') return { kept: false, outcome: notKnown(ctx.redactor, outcome) };
    const error = new FabricError('workspace_moved', 'another worker took the workspace over.');
    return { kept: false, outcome: notKept(ctx.redactor, error) };
  } catch (thrown) {
    return { kept: false, outcome: notKept(ctx.redactor, thrown) };
  }
};
