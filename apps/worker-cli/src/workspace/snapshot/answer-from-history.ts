import type { Json } from '@toolfabric/kernel';
import type { ArtifactSession } from '@toolfabric/ports';
import type { ProbeAnswer } from '@toolfabric/worker-runtime';
import { loadHeader } from './load-snapshot.ts';
import type { ManifestHeader, Snapshot } from './manifest.ts';
import { HISTORY, type SnapshotLimits } from './snapshot-limits.ts';

/** Name of what an intent says about the snapshot that its effect was built on. */
export const GENERATION = 'workspace_generation';

export interface HistoryQuestion {
  readonly session: ArtifactSession;
  /** The newest snapshot, at a generation that was raised for this question. */
  readonly newest: Snapshot;
  /** The call that is asked about. */
  readonly parent: string;
  readonly intent: Json | undefined;
  readonly limits: SnapshotLimits;
  readonly signal: AbortSignal;
}

/** The generation that the call's effect was built on, when it said so. */
const builtOn = (intent: Json | undefined): number | undefined => {
  if (intent === null || typeof intent !== 'object' || Array.isArray(intent)) return undefined;
  const generation = (intent as Record<string, Json>)[GENERATION];
  return typeof generation === 'number' ? generation : undefined;
};

/** Whether every snapshot that the call could have made is remembered: its own would be the next after `since`. */
const reachesBack = ({ header }: Snapshot, since: number | undefined): boolean => {
  if (header.history.length < HISTORY) return true;
  const oldest = header.history[0]?.generation ?? header.generation;
  return since !== undefined && oldest <= since + 1;
};

/**
 * Whether a call is among those whose snapshots the newest one was built on. A call that is not there was not kept, and
 * behind the raised generation it never will be.
 */
export const answerFromHistory = async (question: HistoryQuestion): Promise<ProbeAnswer> => {
  const { session, newest, parent, intent, limits, signal } = question;
  const { header } = newest;
  if (header.callId === parent) return found(header);
  const ancestor = header.history.findLast(({ callId }) => callId === parent);
  if (ancestor !== undefined) {
    return found(await loadHeader(session, header.workspace, ancestor.manifest, limits, signal));
  }
  if (reachesBack(newest, builtOn(intent))) return { answer: 'absent', fence: true };
  return { answer: 'not_visible', reason: 'too much was changed since' };
};

const found = ({ receipt }: ManifestHeader): ProbeAnswer =>
  receipt === undefined
    ? { answer: 'not_visible', reason: 'its snapshot says nothing of how it ended' }
    : { answer: 'found', receipt };
