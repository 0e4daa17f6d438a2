import { delimiter } from 'node:path';
import type { Features } from '@toolfabric/bus-nats';
import { type Capability, probeCapabilities } from '@toolfabric/worker-cli/start';
import { askProgram, versionIn } from '../programs/ask-program.ts';
import { findProgram } from '../programs/find-program.ts';
import { PROGRAM_NAMES, PROGRAMS, type ProgramName } from '../programs/programs.ts';
import { busWarnings, probeBus } from './probe-bus.ts';

export interface ProgramReport extends Capability {
  readonly name: ProgramName;
  /** False where this system cannot have it. */
  readonly needed: boolean;
  readonly purpose: string;
}

export interface Report {
  readonly node: string;
  readonly programs: readonly ProgramReport[];
  /** A sandbox with all of its name spaces, made and left. */
  readonly sandbox: Capability;
  readonly bus?: Features;
  readonly warnings: readonly string[];
  /** What does not work on this machine, each with the reason. Empty when all is well. */
  readonly off: readonly string[];
}

/** Looks at the machine as `up` would find it, by doing what it needs; starts nothing that stays. */
export const examine = async (path: string): Promise<Report> => {
  const server = findProgram('nats-server', path);
  const [found, nats, bus] = await Promise.all([
    probeCapabilities(path.split(delimiter)),
    probeServer(server),
    probeBus({ 'nats-server': server, setpriv: findProgram('setpriv', path) }),
  ]);
  const programs = PROGRAM_NAMES.map((name): ProgramReport => {
    const { for: purpose, linuxOnly } = PROGRAMS[name];
    const needed = !linuxOnly || process.platform === 'linux';
    return { name, purpose, needed, ...(name === 'nats-server' ? nats : found[name]) };
  });
  const works = 'features' in bus;
  return {
    node: process.versions.node,
    programs,
    sandbox: found.namespaces,
    ...(works ? { bus: bus.features } : {}),
    warnings: works ? busWarnings(bus.features) : [],
    off: [...programs.flatMap(programOff), ...sandboxOff(found.namespaces), ...(works ? [] : [`the bus: ${bus.why}`])],
  };
};

const probeServer = async (path: string | undefined): Promise<Capability> => {
  if (path === undefined) return { works: false, reason: 'nats-server is not on the PATH' };
  const version = versionIn((await askProgram(path, ['--version'])).text);
  return version === undefined ? { works: false, path, reason: 'it says no version' } : { works: true, path, version };
};

const programOff = ({ name, needed, works, purpose, reason, path }: ProgramReport): string[] => {
  if (works || !needed) return [];
  return [
    `${purpose}: ${reason ?? `${name} does not work`}${path === undefined ? '; run scripts/setup, or install it' : ''}`,
  ];
};

const sandboxOff = ({ works, reason }: Capability): string[] =>
  works ? [] : [`every tool that runs a command: no sandbox can be made here: ${reason ?? 'the reason is not known'}`];
