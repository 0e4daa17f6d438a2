import { dirname } from 'node:path';
import { FabricError, type Json, randomId } from '@toolfabric/kernel';
import type { Redactor, ToolContext } from '@toolfabric/worker-runtime';
import type { Changes } from '../changes/compare.ts';
import { type After, type Before, digestOf, lookAfter, lookBefore, sizeOf } from '../changes/watch-changes.ts';
import { type ConfinedEnd, type ConfinedRequest, runConfined } from '../confine/run-confined.ts';
import { type CallNetwork, openNetwork } from '../network/open-network.ts';
import type { RefusedHost } from '../network/refused-hosts.ts';
import { ArtifactSink } from '../output/artifact-sink.ts';
import { Capture, type Captured, OutputMeter } from '../output/capture.ts';
import { LogSink } from '../output/log-sink.ts';
import { throwIfStopped } from '../process/stop-reason.ts';
import type { ResolvedCommand } from '../programs/resolve-program.ts';
import { removeLeftover } from '../workspace/leftovers.ts';
import { isStill } from '../workspace/open-root.ts';
import type { OpenWorkspace } from '../workspace/open-workspace.ts';
import type { WorkspaceLock } from '../workspace/workspace-lock.ts';
import type { CommandSettings } from './command-settings.ts';
import { gitBinds } from './git-binds.ts';
import { refuseSharedFiles } from './shared-files.ts';
import { makeMissing, type StandingPlaces, standingPlaces, workspaceBinds } from './writable-binds.ts';

/** Where a command sees its workspace. */
export const INSIDE_WORKSPACE = '/workspace';

export interface CommandRequest {
  readonly resolved: ResolvedCommand;
  /** Resolved directory beneath the workspace root; empty for the root. */
  readonly cwd: string;
  /** Milliseconds that the program may take. */
  readonly timeMs: number;
  /** What happens at the output cap: the program ends, or its output is counted and dropped. */
  readonly atOutputCap: 'end' | 'drop';
  /** Bytes of each stream that the result shows from its beginning and its end. */
  readonly shown: { readonly headBytes: number; readonly tailBytes: number };
  readonly diffBytes: number;
  /** The call names hosts: it runs with a way out, or not at all. */
  readonly network?: boolean;
  /** Read the two streams, redacted, beside everything else. */
  readonly listen?: Readonly<Record<'stdout' | 'stderr', (bytes: Uint8Array) => void>>;
}

/** Everything that is known of a run that began. */
export interface CommandEnd extends ConfinedEnd {
  readonly stdout: Captured;
  readonly stderr: Captured;
  readonly log: { readonly id: string; readonly lost: number } | undefined;
  readonly after: After;
  readonly outputCapReached: boolean;
  readonly workspaceFull: boolean;
  /** Undefined for a command without a network. */
  readonly network: NetworkEnd | undefined;
}

export interface NetworkEnd {
  readonly refused: readonly RefusedHost[];
  /** Refusals that are not in the list. */
  readonly more: number;
}

/** Bytes of a stream that are shown whole more readily than stored. */
const HOLD_BYTES = 4_096;

const full = (bytes: number, most: number): FabricError =>
  new FabricError(
    'workspace_full',
    `the workspace takes ${Number.isFinite(bytes) ? bytes : 'uncounted'} bytes, and may take ${most}`,
  );

interface Streams {
  readonly stdout: Capture;
  readonly stderr: Capture;
  readonly meter: OutputMeter;
  readonly log: LogSink | undefined;
}

const openStreams = (settings: CommandSettings, ctx: ToolContext, request: CommandRequest): Streams => {
  const meter = new OutputMeter(settings.outputBytes, request.atOutputCap);
  const log = ctx.background && ctx.artifacts !== undefined ? new LogSink(ctx.artifacts) : undefined;
  const capture = (name: 'stdout' | 'stderr') =>
    new Capture({
      ...request.shown,
      redactor: ctx.redactor,
      meter,
      log,
      ...(request.listen === undefined ? {} : { listen: request.listen[name] }),
      sink: new ArtifactSink({
        session: ctx.artifacts,
        name: { name, mediaType: 'text/plain; charset=utf-8', trust: 'untrusted' },
        holdBytes: HOLD_BYTES,
        stallMs: settings.stallMs,
      }),
    });
  return { stdout: capture('stdout'), stderr: capture('stderr'), meter, log };
};

/** Bytes of the free space of a state directory's disk that no command may use are not watched here: only its own. */
const checkSize = (before: Before, settings: CommandSettings, request: CommandRequest): void => {
  const mayOnlyShrink = request.resolved.command[0].endsWith('/rm');
  if (before.bytes > settings.workspaceBytes && !mayOnlyShrink) throw full(before.bytes, settings.workspaceBytes);
};

const intentOf = (settings: CommandSettings, run: string, before: Before, network: boolean): Json => ({
  run,
  at: Date.now(),
  place: settings.records.place,
  tree: digestOf(before.scan),
  ...(network ? { network } : {}),
});

/** A command under way: what `runCommand` strings together. */
class Run {
  readonly #settings: CommandSettings;
  readonly #workspace: OpenWorkspace;
  readonly #ctx: ToolContext;
  readonly #request: CommandRequest;
  readonly #places: StandingPlaces | undefined;
  #readied: Promise<void> | undefined;
  readonly id = randomId();
  before: Before | undefined;
  network: CallNetwork | undefined;

  constructor(
    settings: CommandSettings,
    workspace: OpenWorkspace,
    ctx: ToolContext,
    request: CommandRequest,
    places: StandingPlaces | undefined,
  ) {
    this.#settings = settings;
    this.#workspace = workspace;
    this.#ctx = ctx;
    this.#request = request;
    this.#places = places;
  }

  /** The way out, before anything else: a call that has none where it needs one has done nothing. */
  open = async (): Promise<void> => {
    const { etc } = this.#settings.confinement;
    this.network = await openNetwork(this.#ctx, dirname(etc), this.#request.network ?? false);
  };

  /** While the sandbox is being made: the look at the workspace, and the promise to the ledger (protocol 5). Once. */
  ready = (): Promise<void> => (this.#readied ??= this.#getReady());

  /** A directory that is to be shown and is missing is made first, when `started` is stored. */
  arrange = async (): Promise<void> => {
    if (this.#places === undefined || this.#places.missing.length === 0) return;
    await this.ready();
    await makeMissing(this.#workspace, this.#places);
  };

  async #getReady(): Promise<void> {
    const { contents, records } = this.#settings;
    if (this.#places !== undefined) await refuseSharedFiles(this.#workspace.root, this.#places);
    this.before = await lookBefore(this.#workspace.root, contents.of(this.#workspace.record.id));
    checkSize(this.before, this.#settings, this.#request);
    throwIfStopped(this.#ctx.signal);
    await this.#ctx.beginEffect(intentOf(this.#settings, this.id, this.before, this.network !== undefined));
    records.begun(this.#workspace.record.id, this.id);
  }

  diskFull = async (): Promise<boolean> => (await sizeOf(this.#workspace.root)) > this.#settings.workspaceBytes;
}

const stillThere = async ({ record }: OpenWorkspace): Promise<void> => {
  if (await isStill(record.root, record.identity)) return;
  throw new FabricError('workspace_missing', 'another directory stands where the workspace was');
};

/** A run that began, and what is left to do about it once its outcome is known. */
export interface Begun {
  readonly id: string;
  readonly end: CommandEnd;
}

/** The program never began; whatever `beginEffect` had stored, nothing happened. */
export class NeverBegan extends Error {
  override readonly name = 'NeverBegan';
}

/**
 * Runs one checked command in a workspace, under the lock of that workspace from before `started` to after the last
 * process is gone (protocol 7 (c)). Throws `NeverBegan` with its cause; anything else that it throws came after.
 */
export const runCommand = async (
  settings: CommandSettings,
  workspace: OpenWorkspace,
  lock: WorkspaceLock,
  ctx: ToolContext,
  request: CommandRequest,
): Promise<Begun> => {
  await removeLeftover(workspace.root, lock);
  await stillThere(workspace);
  const places = ctx.writable === undefined ? undefined : standingPlaces(workspace.root, ctx.writable);
  const run = new Run(settings, workspace, ctx, request, places);
  const streams = openStreams(settings, ctx, request);
  const { confinement } = settings;
  const confined = (network: CallNetwork | undefined): ConfinedRequest => ({
    command: request.resolved.command,
    env: { ...request.resolved.env, ...network?.env },
    binds: [
      { source: confinement.etc, target: '/etc', writable: false },
      ...confinement.toolchains.map((directory) => ({ source: directory, target: directory, writable: false })),
      ...workspaceBinds(workspace.root, INSIDE_WORKSPACE, places),
      ...gitBinds(workspace.root, INSIDE_WORKSPACE),
      ...(network?.binds ?? []),
    ],
    cwd: request.cwd === '' ? INSIDE_WORKSPACE : `${INSIDE_WORKSPACE}/${request.cwd}`,
    user: workspace.record.child,
    lock: lock.forRun(),
    // What stands for the next command has no way out.
    ...(network === undefined ? { place: workspace.record.id } : { helper: network.helper }),
    timeMs: request.timeMs,
    signal: ctx.signal,
    ready: run.ready,
    diskFull: run.diskFull,
    onOutput: streams.stdout.take,
    onErrorOutput: streams.stderr.take,
  });
  const ended = await run
    .open()
    .then(() => run.arrange())
    .then(() => runConfined(confinement, confined(run.network)))
    .catch(async (thrown: unknown) => {
      await streams.log?.close();
      throw new NeverBegan('the program never began', { cause: thrown });
    })
    .finally(() => run.network?.close());
  if (ended.survivors === 0) lock.isAloneAgain();
  return { id: run.id, end: await afterEnd(settings, workspace, request, run, streams, ctx.redactor, ended) };
};

/** Before the diff is cut to what a result has room for. */
const withoutSecrets = (redactor: Redactor, changes: Changes): Changes => {
  const diff = redactor.text(changes.diff);
  const diffTotal = changes.diffTotal - Buffer.byteLength(changes.diff) + Buffer.byteLength(diff);
  return { ...changes, diff, diffTotal };
};

const afterEnd = async (
  settings: CommandSettings,
  workspace: OpenWorkspace,
  request: CommandRequest,
  run: Run,
  streams: Streams,
  redactor: Redactor,
  ended: ConfinedEnd,
): Promise<CommandEnd> => {
  const always = streams.stdout.total + streams.stderr.total > 2 * HOLD_BYTES;
  const [stdout, stderr, seen] = await Promise.all([
    streams.stdout.end(always),
    streams.stderr.end(always),
    lookAfter(workspace.root, run.before as Before, request.diffBytes),
  ]);
  const after = { ...seen, changes: withoutSecrets(redactor, seen.changes) };
  await streams.log?.close();
  const logId = streams.log?.id;
  const log = logId === undefined ? undefined : { id: logId, lost: streams.log?.lost ?? 0 };
  const workspaceFull = after.bytes > settings.workspaceBytes && after.bytes > (run.before?.bytes ?? 0);
  const outputCapReached = streams.meter.reached;
  const limits = new Map(ended.limits);
  if (outputCapReached) limits.set('output', 1);
  if (workspaceFull) limits.set('disk', 1);
  const network = run.network && { refused: run.network.refused.list, more: run.network.refused.more };
  return { ...ended, limits, stdout, stderr, log, after, outputCapReached, workspaceFull, network };
};
