import { closeSync, constants, fstatSync, openSync } from 'node:fs';
import { setTimeout } from 'node:timers/promises';
import { randomId } from '@toolfabric/kernel';
import { ProcessNotStarted, type RunningProcess, startProcess } from '../process/run-process.ts';
import type { CallGroup } from './cgroup/call-group.ts';
import type { CompiledSandbox } from './compile-sandbox.ts';
import { ConfinedSandbox, type LockFile, reasonOf, START_MS, unavailable } from './confined-sandbox.ts';
import type { Confinement } from './confinement.ts';
import { Hold, SandboxEnded } from './hold.ts';

const OPEN_OR_CREATE = constants.O_RDWR | constants.O_CREAT | constants.O_NOFOLLOW;

interface Launched {
  readonly process: RunningProcess;
  readonly hold: Hold;
  readonly lock: LockFile | undefined;
}

const lockFileOf = (path: string, descriptor: number): LockFile => {
  const { dev, ino } = fstatSync(descriptor);
  return { path, dev, ino };
};

/** Starts bubblewrap with what it inherits. The lock is in no other hands: its descriptor here is closed. */
const launch = async ({ seccomp }: Confinement, compiled: CompiledSandbox): Promise<Launched> => {
  const open: number[] = [];
  const inherit = (path: string, flags: string | number) => {
    const descriptor = openSync(path, flags, 0o600);
    open.push(descriptor);
    return descriptor;
  };
  try {
    const filter = seccomp === undefined ? 'pipe' : inherit(seccomp, 'r');
    const lock = compiled.lock === undefined ? undefined : inherit(compiled.lock, OPEN_OR_CREATE);
    const { channel } = compiled;
    // The channel comes behind all others, so that the place of the lock is taken in any case.
    const last = lock === undefined ? (channel ? (['ignore'] as const) : []) : [lock];
    const descriptors = ['pipe', 'pipe', 'pipe', filter, ...last] as const;
    const process = await startProcess({ ...compiled, descriptors, channel });
    const hold = new Hold(process);
    return { process, hold, lock: lock === undefined ? undefined : lockFileOf(compiled.lock ?? '', lock) };
  } catch (thrown) {
    throw thrown instanceof ProcessNotStarted ? unavailable('the sandbox could not be started', thrown) : thrown;
  } finally {
    for (const descriptor of open) closeSync(descriptor);
  }
};

const openGroup = async ({ groups }: Confinement, { limits }: CompiledSandbox): Promise<CallGroup | undefined> => {
  try {
    return await groups?.create(randomId(), limits);
  } catch (thrown) {
    throw unavailable('a control group could not be made', thrown);
  }
};

const build = async (
  confinement: Confinement,
  compiled: CompiledSandbox,
  group: CallGroup | undefined,
): Promise<ConfinedSandbox> => {
  try {
    // The wait for the first move passes while the process is started.
    confinement.groups?.prime();
    const launched = await launch(confinement, compiled);
    return new ConfinedSandbox({ ...launched, compiled, group, flock: confinement.programs.flock });
  } catch (thrown) {
    void group?.remove();
    throw thrown;
  }
};

const pause = async (ms: number, signal: AbortSignal): Promise<void> => {
  if (ms > 0) await setTimeout(ms, undefined, { signal }).catch(() => {});
};

/**
 * Makes a sandbox that stands: under its limits, with nothing in it but the gate. Ends it again and throws where that
 * cannot be had (`sandbox_unavailable`) or the signal comes first. Starting a process takes this thread some
 * milliseconds: that begins after `delayMs`.
 */
export const standSandbox = async (
  confinement: Confinement,
  compiled: CompiledSandbox,
  signal: AbortSignal,
  delayMs = 0,
): Promise<ConfinedSandbox> => {
  if (signal.aborted) throw reasonOf(signal);
  const group = await openGroup(confinement, compiled);
  await pause(delayMs, signal);
  const sandbox = await build(confinement, compiled, group);
  const limit = AbortSignal.any([signal, AbortSignal.timeout(START_MS)]);
  const stop = () => void sandbox.discard();
  if (limit.aborted) stop();
  limit.addEventListener('abort', stop);
  try {
    await sandbox.stand();
    return sandbox;
  } catch (thrown) {
    await sandbox.discard();
    if (signal.aborted) throw reasonOf(signal);
    throw thrown instanceof SandboxEnded ? sandbox.wasNotMade() : thrown;
  } finally {
    limit.removeEventListener('abort', stop);
  }
};
