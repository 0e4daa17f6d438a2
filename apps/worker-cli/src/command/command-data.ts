import { constants } from 'node:os';
import type { ContentBlock, Evidence, Outcome, Truncation } from '@toolfabric/contract';
import type { Json } from '@toolfabric/kernel';
import type { LimitName } from '../confine/limits.ts';
import { meaningOf } from '../network/refused-hosts.ts';
import type { Captured } from '../output/capture.ts';
import { fitEnds } from '../output/fit-ends.ts';
import { fitText } from '../output/fit-text.ts';
import { jsonBytes } from '../output/json-bytes.ts';
import type { CommandEnd } from './run-command.ts';

const SIGNAL_NAMES = new Map(Object.entries(constants.signals).map(([name, number]) => [number, name]));

/** By the convention of shells, which bubblewrap keeps: 128 and the number of the signal. */
const signalOf = (code: number | null): string | null => {
  if (code === null) return 'SIGKILL';
  return code > 128 ? (SIGNAL_NAMES.get(code - 128) ?? null) : null;
};

/** In this order: what ended the program goes before what only hindered it. */
const ORDER: readonly LimitName[] = ['wall_time', 'cpu_time', 'output', 'disk', 'memory', 'processes'];

export const limitOf = ({ limits }: CommandEnd): LimitName | null => ORDER.find((name) => limits.has(name)) ?? null;

const artifactOf = ({ artifact: kept }: Captured): { id: string } | { missing: string } | undefined => {
  if (kept === undefined) return undefined;
  return 'stored' in kept ? { id: kept.stored.id } : { missing: kept.missing };
};

const streamData = (captured: Captured, room: number): Record<string, Json> => {
  const artifact = artifactOf(captured);
  const fitted = fitEnds(captured.text, room);
  return {
    text: fitted.text,
    bytes: captured.total,
    lines: captured.lines,
    ...(captured.binary ? { binary: true } : {}),
    ...(captured.mediaType === undefined ? {} : { media_type: captured.mediaType }),
    ...(captured.ansiStripped ? { colours_removed: true } : {}),
    ...(captured.invalidUtf8 ? { invalid_utf8: true } : {}),
    ...(artifact !== undefined && 'id' in artifact ? { artifact: artifact.id } : {}),
    ...(artifact !== undefined && 'missing' in artifact ? { artifact_missing: artifact.missing } : {}),
    ...(captured.dropped === 0 ? {} : { dropped_bytes: captured.dropped }),
  };
};

const filesData = ({ after: { changes } }: CommandEnd, files: number): Record<string, Json> => ({
  total: changes.total,
  complete: changes.complete,
  files: changes.files.slice(0, files).map(({ path, change, beforeSha256, afterSha256 }) => ({
    path,
    change,
    ...(beforeSha256 === undefined ? {} : { before_sha256: beforeSha256 }),
    ...(afterSha256 === undefined ? {} : { after_sha256: afterSha256 }),
  })),
  ...(changes.git === 0 ? {} : { git_files: changes.git }),
});

/** What the way out let not through, for whoever mends the call. */
const networkData = ({ network }: CommandEnd): Record<string, Json> => {
  if (network === undefined) return {};
  const refused = network.refused.map(({ host, reason, times }) => ({
    host,
    reason,
    times,
    meaning: meaningOf(reason),
  }));
  return { network: { refused, ...(network.more === 0 ? {} : { more_refusals: network.more }) } };
};

/** Hosts that a summary names. */
const MOST_NAMED = 3;

/** For the summary; empty where nothing was refused. */
export const refusedText = ({ network }: Pick<CommandEnd, 'network'>): string => {
  const refused = network?.refused ?? [];
  if (refused.length === 0) return '';
  const named = refused.slice(0, MOST_NAMED).map(({ host, reason }) => `${host} (${reason})`);
  return ` The egress refused ${named.join(', ')}${refused.length > MOST_NAMED ? ' and others' : ''}.`;
};

export interface Shares {
  readonly stdout: number;
  readonly stderr: number;
  readonly diff: number;
  readonly files: number;
}

/** What a result of any command says; texts are cut to their shares of the budget. */
export const commandData = (end: CommandEnd, shares: Shares): Record<string, Json> => {
  const { changes } = end.after;
  const diff = fitText(changes.diff, shares.diff);
  return {
    exit_code: end.code,
    signal: signalOf(end.code),
    limit: limitOf(end),
    limits_hit: Object.fromEntries(end.limits),
    duration_ms: Math.round(end.durationMs),
    cpu_ms: end.cpuMs === undefined ? null : Math.round(end.cpuMs),
    max_memory_bytes: end.maxMemoryBytes ?? null,
    survivors: end.survivors,
    survivors_counted_by: end.countedBy,
    ...(end.outputMayContinue ? { output_may_continue: true } : {}),
    ...networkData(end),
    stdout: streamData(end.stdout, shares.stdout),
    stderr: streamData(end.stderr, shares.stderr),
    ...(end.log === undefined ? {} : { log: { artifact: end.log.id, lost_bytes: end.log.lost } }),
    files_changed: filesData(end, shares.files),
    diff: diff.text,
    ...(diff.whole && changes.diffTotal === Buffer.byteLength(changes.diff) ? {} : { diff_bytes: changes.diffTotal }),
  };
};

/** The largest data within the budget: texts give way in steps, what happened never does. */
export const fitData = (make: (shares: Shares) => Record<string, Json>, budget: number): Record<string, Json> => {
  for (let share = budget; ; share = Math.floor(share * 0.7)) {
    const shares = {
      stdout: Math.floor(share * 0.4),
      stderr: Math.floor(share * 0.25),
      diff: Math.floor(share * 0.25),
      files: Math.max(0, Math.floor((share * 0.1) / 100)),
    };
    const data = make(shares);
    if (jsonBytes(data) <= budget || share < 64) return data;
  }
};

const cutText = (stream: string, captured: Captured, shown: Json | undefined): Truncation[] => {
  const text = (shown as { text?: string } | undefined)?.text ?? '';
  const kept = Math.min(captured.kept, captured.text === text ? captured.kept : Buffer.byteLength(text));
  return kept < captured.total ? [{ stream, kept, total: captured.total, unit: 'bytes' }] : [];
};

/** What of a result is only a part, stated (RS-3). */
export const truncationOf = (end: CommandEnd, data: Record<string, Json>): Truncation[] => {
  const { changes } = end.after;
  const diffKept = Buffer.byteLength(String(data['diff'] ?? ''));
  const filesKept = ((data['files_changed'] as { files?: unknown[] } | undefined)?.files ?? []).length;
  return [
    ...cutText('stdout', end.stdout, data['stdout']),
    ...cutText('stderr', end.stderr, data['stderr']),
    ...(diffKept < changes.diffTotal
      ? [{ stream: 'diff', kept: diffKept, total: changes.diffTotal, unit: 'bytes' as const }]
      : []),
    ...(filesKept < changes.total
      ? [{ stream: 'files_changed', kept: filesKept, total: changes.total, unit: 'items' as const }]
      : []),
  ];
};

interface Stored {
  readonly id: string;
  readonly name: string;
  readonly mediaType: string;
}

const storedOf = ({ artifact: kept }: Captured): Stored[] =>
  kept !== undefined && 'stored' in kept ? [{ id: kept.stored.id, name: kept.name, mediaType: kept.mediaType }] : [];

/** The artifacts of a command, as ids and as blocks that say what each is. */
export const artifactsOf = (
  end: CommandEnd,
  more: readonly Stored[] = [],
): { artifacts?: string[]; content?: ContentBlock[] } => {
  const log = end.log === undefined ? [] : [{ id: end.log.id, name: 'log', mediaType: 'text/plain; charset=utf-8' }];
  const all = [...storedOf(end.stdout), ...storedOf(end.stderr), ...log, ...more].slice(0, 64);
  if (all.length === 0) return {};
  return {
    artifacts: all.map(({ id }) => id),
    content: all.map(({ id, name, mediaType }) => ({ type: 'file', name, mediaType, artifact: id })),
  };
};

const MOST_EVIDENCE = 20;
const MOST_REF = 300;

/** The effect of a command, from what was seen in the workspace before and after it (RS-2). */
export const effectOfCommand = ({ after: { changes } }: CommandEnd): Pick<Outcome, 'sideEffect' | 'evidence'> => {
  const evidence: Evidence[] = changes.files
    .filter(({ path }) => path.length <= MOST_REF)
    .slice(0, MOST_EVIDENCE)
    .map(({ path, change, beforeSha256, afterSha256 }) => ({
      kind: 'file',
      ref: path,
      detail: `${change}: sha256:${beforeSha256 ?? 'unread'} to sha256:${afterSha256 ?? (change === 'deleted' ? 'absent' : 'unread')}`,
    }));
  if (changes.git > 0) evidence.push({ kind: 'repository', ref: '.git', detail: `${changes.git} files changed` });
  if (evidence.length > 0) return { sideEffect: 'confirmed', evidence };
  return { sideEffect: changes.complete && changes.total === 0 ? 'none' : 'possible' };
};
