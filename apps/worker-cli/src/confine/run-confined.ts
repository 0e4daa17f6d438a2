import { closeSync, openSync } from 'node:fs';
import { FabricError, randomId } from '@toolfabric/kernel';
import {
  type Ending,
  type OutputListener,
  type ProcessEnd,
  ProcessNotStarted,
  runProcess,
  type Started,
  type User,
} from '../process/run-process.ts';
import { canReach, reachCommand, reachedBinds } from '../sandbox/reach.ts';
import { needProgram } from '../sandbox/run-in-sandbox.ts';
import type { Bind } from '../sandbox/sandbox-command.ts';
import type { CallGroup } from './cgroup/call-group.ts';
import { type CommandSpec, confinedCommand, environmentOf, holdArgs } from './confined-command.ts';
import type { Confinement } from './confinement.ts';
import { Hold, SandboxEnded } from './hold.ts';
import type { CommandLimits, LimitName } from './limits.ts';
import { type Census, countSurvivors, groupCensus, namespaceCensus } from './survivors.ts';
import { watchLimits } from './watch-limits.ts';

export interface ConfinedRequest extends CommandSpec {
  /** Undefined where the worker is not root. Never root. */
  readonly user: User | undefined;
  readonly env?: Readonly<Record<string, string>>;
  /** Descriptor of the lock that is to be held until the last process of the command is gone. */
  readonly lock?: number;
  readonly onOutput: OutputListener;
  /** Left out, only the beginning of standard error is kept. */
  readonly onErrorOutput?: OutputListener;
  /** Milliseconds from the start of the program. */
  readonly timeMs: number;
  readonly signal: AbortSignal;
  /** The sandbox stands; the program begins when this resolves, and never does when it rejects. */
  readonly ready?: () => Promise<void>;
  /** Less than the limits of the worker. */
  readonly limits?: Partial<CommandLimits>;
  /** Looks at the disk from time to time; true ends the command. */
  readonly diskFull?: () => Promise<boolean>;
}

export interface ConfinedEnd {
  /** Null when it was ended from outside. */
  readonly code: number | null;
  /** The beginning of standard error. */
  readonly errors: string;
  readonly ending: Ending;
  readonly outputMayContinue: boolean;
  /** Each limit that was enforced, by a counter of the kernel or by the worker. */
  readonly limits: ReadonlyMap<LimitName, number>;
  /** Milliseconds of the program alone. */
  readonly durationMs: number;
  readonly cpuMs: number | undefined;
  readonly maxMemoryBytes: number | undefined;
  readonly survivors: number;
  readonly countedBy: Census['by'];
}

const unavailable = (why: string, cause?: unknown): FabricError =>
  new FabricError('sandbox_unavailable', why, { cause });

const reachable = async (binds: readonly Bind[], user: User): Promise<boolean> => {
  for (const { source } of binds) if (!(await canReach(source, user))) return false;
  return true;
};

/** As for a sandbox: a root worker reaches for its user what that user cannot pass to. */
const commandLine = async (
  confinement: Confinement,
  request: ConfinedRequest,
): Promise<[string[], User | undefined]> => {
  const { programs } = confinement;
  const limits = limitsOf(confinement, request);
  const bwrap = needProgram(programs, 'bwrap');
  const { user, binds } = request;
  const hold = holdArgs();
  if (user === undefined || (await reachable(binds, user))) {
    const [file = '', ...args] = confinedCommand(confinement, bwrap, request, limits);
    return [[file, ...hold, ...args], user];
  }
  const inner = confinedCommand(confinement, bwrap, { ...request, binds: reachedBinds(binds) }, limits);
  const all = { bwrap, prlimit: needProgram(programs, 'prlimit'), timeout: needProgram(programs, 'timeout') };
  const setpriv = needProgram(programs, 'setpriv');
  const [file = '', ...outer] = reachCommand({ ...all, setpriv }, request, user);
  return [[file, ...hold, ...outer, ...inner], undefined];
};

const limitsOf = (confinement: Confinement, { limits }: ConfinedRequest): CommandLimits => ({
  ...confinement.limits,
  ...limits,
});

const openGroup = (confinement: Confinement, request: ConfinedRequest): CallGroup | undefined => {
  try {
    return confinement.groups?.create(randomId(), limitsOf(confinement, request));
  } catch (thrown) {
    throw unavailable('a control group could not be made', thrown);
  }
};

interface Life {
  readonly hold: Hold;
  readonly group: CallGroup | undefined;
  readonly limits: Map<LimitName, number>;
}

/** Puts the sandbox under its limits while it stands still, then lets the program begin. */
const letBegin = async (started: Started, life: Life, request: ConfinedRequest): Promise<void> => {
  const { hold, group } = life;
  const { pid } = await hold.stands(started);
  try {
    await group?.add(pid);
  } catch (thrown) {
    if ((thrown as NodeJS.ErrnoException).code === 'ESRCH') throw new SandboxEnded('it ended before it stood');
    throw unavailable('the sandbox could not be put under its limits', thrown);
  }
  hold.release();
  await request.ready?.();
  hold.begin();
};

const endGroup = ({ group }: Life): void => {
  try {
    group?.kill();
  } catch {
    // It has ended by itself, and its group with it.
  }
};

const enforced = (life: Life): void => {
  const hits = life.group?.hits();
  if (hits === undefined) return;
  if (hits.memory > 0) life.limits.set('memory', hits.memory);
  if (hits.processes > 0) life.limits.set('processes', hits.processes);
};

const startAll = async (
  confinement: Confinement,
  request: ConfinedRequest,
  life: Life,
): Promise<{ end: ProcessEnd; thrown: unknown }> => {
  const [[file = '', ...args], user] = await commandLine(confinement, request);
  const filter = confinement.seccomp === undefined ? undefined : openSync(confinement.seccomp, 'r');
  const stop = new AbortController();
  let beginning: Promise<void> | undefined;
  let thrown: unknown;
  const watching = () =>
    watchLimits(
      { ...request, group: life.group, limits: life.limits, cpuMs: limitsOf(confinement, request).cpuMs },
      stop,
    );
  try {
    const end = await runProcess({
      file,
      args,
      env: environmentOf(confinement, request.env),
      user,
      descriptors: ['pipe', 'pipe', 'pipe', filter ?? 'pipe', request.lock ?? 'pipe'],
      // Whoever has started the sandbox waits for it, so that nothing of it is left to nobody.
      ...(life.group === undefined ? {} : { onEnd: () => endGroup(life) }),
      onStart: (started) => {
        beginning = letBegin(started, life, request).then(watching, (why: unknown) => {
          thrown = why;
          stop.abort();
        });
      },
      onOutput: request.onOutput,
      ...(request.onErrorOutput === undefined ? {} : { onErrorOutput: request.onErrorOutput }),
      timeoutMs: START_MS + request.timeMs,
      signal: AbortSignal.any([request.signal, stop.signal]),
    });
    life.hold.over();
    stop.abort();
    await beginning;
    return { end, thrown };
  } finally {
    if (filter !== undefined) closeSync(filter);
  }
};

/** Milliseconds that a sandbox may take to stand, and its worker to say that the program may begin. */
const START_MS = 30_000;

const wasStopped = (end: ProcessEnd, life: Life, signal: AbortSignal): Ending => {
  if (life.limits.has('wall_time')) return 'timeout';
  if (signal.aborted && end.ending !== 'exited') return 'aborted';
  return end.ending === 'aborted' ? 'enough' : end.ending;
};

/**
 * Runs one command in a sandbox of its own, under limits for all of its processes together, and says how it ended from
 * what the kernel counted. Throws `sandbox_unavailable` when the program never began since the isolation could not be
 * had, and what `ready` rejected with; in both cases nothing ran.
 */
export const runConfined = async (confinement: Confinement, request: ConfinedRequest): Promise<ConfinedEnd> => {
  if (request.user?.uid === 0) throw unavailable('a command never runs as root');
  const group = openGroup(confinement, request);
  const life: Life = { hold: new Hold(), group, limits: new Map() };
  try {
    const { end, thrown } = await startAll(confinement, request, life);
    const census = group === undefined ? namespaceCensus(life.hold.namespace) : groupCensus(group);
    const survivors = await countSurvivors(census);
    if (!life.hold.began) throw neverBegan(end, thrown, request.signal);
    enforced(life);
    const ending = wasStopped(end, life, request.signal);
    return {
      code: ending === 'exited' ? end.code : null,
      errors: end.stderr,
      ending,
      outputMayContinue: end.outputMayContinue,
      limits: life.limits,
      durationMs: life.hold.durationMs,
      cpuMs: group?.cpuMs(),
      maxMemoryBytes: group?.maxMemoryBytes(),
      survivors,
      countedBy: census.by,
    };
  } catch (thrown) {
    if (thrown instanceof ProcessNotStarted) throw unavailable('the sandbox could not be started', thrown);
    throw thrown;
  } finally {
    group?.remove();
  }
};

const neverBegan = (end: ProcessEnd, thrown: unknown, signal: AbortSignal): unknown => {
  if (thrown !== undefined && !(thrown instanceof SandboxEnded)) return thrown;
  if (signal.aborted)
    return signal.reason instanceof FabricError
      ? signal.reason
      : new FabricError('cancelled', 'stopped before the program began');
  return unavailable(`the sandbox could not be made: ${end.stderr.split('\n', 1)[0]?.slice(0, 300)}`);
};
