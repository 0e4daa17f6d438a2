import { statSync } from 'node:fs';
import { FabricError } from '@toolfabric/kernel';
import type { User } from '../process/run-process.ts';
import { canReachAll, reachCommand, reachedBinds } from '../sandbox/reach.ts';
import { needProgram } from '../sandbox/run-in-sandbox.ts';
import type { Bind } from '../sandbox/sandbox-command.ts';
import { confinedCommand, environmentOf, holdArgs } from './confined-command.ts';
import type { Confinement } from './confinement.ts';
import type { CommandLimits } from './limits.ts';

export interface ConfinedSpec {
  /** Absolute inside. */
  readonly program: string;
  readonly binds: readonly Bind[];
  /** Directories and links inside, as bubblewrap arguments, after the binds. */
  readonly arrange?: readonly string[];
  /** Undefined where the worker is not root. Never root. */
  readonly user: User | undefined;
  /** File of the lock that is to be held until the last process of the command is gone. */
  readonly lock?: string;
  /** A channel to the worker for what opens the network, closed before the program begins. */
  readonly channel?: boolean;
  /** Less than the limits of the worker. */
  readonly limits?: Partial<CommandLimits>;
}

/** A sandbox as it is to be made. */
export interface CompiledSandbox {
  readonly file: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  /** Who starts it. */
  readonly user: User | undefined;
  readonly limits: CommandLimits;
  readonly lock: string | undefined;
  readonly channel: boolean;
  /** Equal for sandboxes that are the same: made by one command line, of the same directories, under the same limits. */
  readonly key: string;
}

const unavailable = (why: string): FabricError => new FabricError('sandbox_unavailable', why);

/** What the system mounts show already. */
const SYSTEM = /^\/(usr|bin|sbin)\//;

const needsOf = ({ programs, toolchains }: Confinement, { program, lock }: ConfinedSpec): string[] => {
  const all = lock === undefined ? [program] : [program, needProgram(programs, 'flock')];
  return all.filter((one) => !SYSTEM.test(one) && !toolchains.some((directory) => one.startsWith(`${directory}/`)));
};

/** As for a sandbox: a root worker reaches for its user what that user cannot pass to. */
const commandLine = (
  confinement: Confinement,
  spec: ConfinedSpec,
  limits: CommandLimits,
): [string[], User | undefined] => {
  const { programs } = confinement;
  const { user, binds } = spec;
  const bwrap = needProgram(programs, 'bwrap');
  const plan = { ...spec, needs: needsOf(confinement, spec) };
  if (user === undefined || canReachAll(binds, user)) return [confinedCommand(confinement, bwrap, plan, limits), user];
  const inner = confinedCommand(confinement, bwrap, { ...plan, binds: reachedBinds(binds) }, limits);
  const all = { bwrap, prlimit: needProgram(programs, 'prlimit'), timeout: needProgram(programs, 'timeout') };
  const setpriv = needProgram(programs, 'setpriv');
  return [[...reachCommand({ ...all, setpriv }, plan, user), ...inner], undefined];
};

/** Device and inode: another directory under the same name is another one. */
const identityOf = ({ source }: Bind): string => {
  const stats = statSync(source, { throwIfNoEntry: false });
  return stats === undefined ? '' : `${stats.dev}:${stats.ino}`;
};

/** Throws `sandbox_unavailable` for root, and where a program that it takes is missing. */
export const compileSandbox = (confinement: Confinement, spec: ConfinedSpec): CompiledSandbox => {
  if (spec.user?.uid === 0) throw unavailable('a command never runs as root');
  const limits = { ...confinement.limits, ...spec.limits };
  const [[file = '', ...args], user] = commandLine(confinement, spec, limits);
  const { lock, binds, channel = false } = spec;
  return {
    file,
    args: [...holdArgs(), ...args],
    env: environmentOf(confinement),
    user,
    limits,
    lock,
    channel,
    key: JSON.stringify([file, args, user, limits, lock, channel, binds.map(identityOf)]),
  };
};
