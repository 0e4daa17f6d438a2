import type { Ending } from '../process/run-process.ts';
import { type CompiledSandbox, type ConfinedSpec, compileSandbox } from './compile-sandbox.ts';
import type { ConfinedSandbox, SandboxEnd, SandboxRun } from './confined-sandbox.ts';
import type { Confinement } from './confinement.ts';
import { SandboxEnded } from './hold.ts';
import { standSandbox } from './stand-sandbox.ts';

export interface ConfinedRequest
  extends Omit<ConfinedSpec, 'program' | 'channel'>,
    Omit<SandboxRun, 'command' | 'env'> {
  /** Absolute inside, with its arguments. */
  readonly command: readonly [program: string, ...args: string[]];
  readonly env?: Readonly<Record<string, string>>;
  /** Where the next command is likely to want the same sandbox, which then stands already. */
  readonly place?: string;
}

export interface ConfinedEnd extends Omit<SandboxEnd, 'end'> {
  /** Null when it was ended from outside. */
  readonly code: number | null;
  /** The beginning of standard error. */
  readonly errors: string;
  readonly ending: Ending;
  readonly outputMayContinue: boolean;
}

const specOf = (request: ConfinedRequest): ConfinedSpec => ({
  ...request,
  program: request.command[0],
  channel: request.helper !== undefined,
});

const isUp = async (sandbox: ConfinedSandbox): Promise<ConfinedSandbox> => {
  await sandbox.isUp().catch(async (thrown: unknown) => {
    await sandbox.discard();
    throw thrown;
  });
  return sandbox;
};

/** The next one, for a command like this one. */
const restock = (confinement: Confinement, request: ConfinedRequest): void => {
  if (request.place === undefined) return;
  const spec = specOf(request);
  confinement.standing.restock(request.place, {
    compile: () => compileSandbox(confinement, spec),
    make: async (compiled, signal, delayMs) => {
      const sandbox = await isUp(await standSandbox(confinement, compiled, signal, delayMs));
      if (compileSandbox(confinement, spec).key === compiled.key) return sandbox;
      await sandbox.discard();
      throw new SandboxEnded('what it was made of was exchanged meanwhile');
    },
  });
};

/** One that stood and ended before anything was let go is as good as none. */
const runIn = async (sandbox: ConfinedSandbox, run: SandboxRun, isSpare: boolean): Promise<SandboxEnd | undefined> => {
  try {
    return await sandbox.run(run);
  } catch (thrown) {
    if (!(thrown instanceof SandboxEnded)) throw thrown;
    if (isSpare) return undefined;
    throw sandbox.wasNotMade();
  }
};

const once = <T>(work: (() => Promise<T>) | undefined): (() => Promise<T | undefined>) => {
  let under: Promise<T | undefined> | undefined;
  return () => (under ??= work === undefined ? Promise.resolve(undefined) : work());
};

const runAnywhere = async (
  confinement: Confinement,
  compiled: CompiledSandbox,
  request: ConfinedRequest,
): Promise<SandboxEnd> => {
  const { place, signal, env = {} } = request;
  const ready = once(request.ready);
  const run: SandboxRun = { ...request, env, ready: async () => void (await ready()) };
  const standing = place === undefined ? undefined : await confinement.standing.take(place, compiled.key, signal);
  const ended = standing === undefined ? undefined : await runIn(standing, run, true);
  if (ended !== undefined) return ended;
  const made = await standSandbox(confinement, compiled, signal);
  return (await runIn(made, run, false)) as SandboxEnd;
};

const endingOf = ({ end, limits }: SandboxEnd, signal: AbortSignal): Ending => {
  if (limits.has('wall_time')) return 'timeout';
  if (signal.aborted && end.ending !== 'exited') return 'aborted';
  return end.ending === 'aborted' ? 'enough' : end.ending;
};

/**
 * Runs one command in a sandbox of its own, under limits for all of its processes together, and says how it ended from
 * what the kernel counted. Throws `sandbox_unavailable` when the program never began since the isolation could not be
 * had, `workspace_busy` when processes of an earlier command hold its lock, and what `ready` rejected with; in all of
 * these nothing ran.
 */
export const runConfined = async (confinement: Confinement, request: ConfinedRequest): Promise<ConfinedEnd> => {
  const compiled = compileSandbox(confinement, specOf(request));
  const { end, ...ended } = await runAnywhere(confinement, compiled, request);
  const ending = endingOf({ end, ...ended }, request.signal);
  if (ending === 'exited' && ended.limits.size === 0 && ended.survivors === 0) restock(confinement, request);
  return {
    ...ended,
    ending,
    code: ending === 'exited' ? end.code : null,
    errors: end.stderr,
    outputMayContinue: end.outputMayContinue,
  };
};
