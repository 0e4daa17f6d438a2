import { readFileSync } from 'node:fs';
import { delimiter } from 'node:path';
import type { Features } from '@toolfabric/bus-nats';
import { type EngineProbe, probeEngine, probeServer } from '@toolfabric/trace-writer/start';
import { type Capabilities, type Capability, probeCapabilities } from '@toolfabric/worker-cli/start';
import type { ClickhouseAccess } from '../config.ts';
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
  /** What keeps a command within its limits, beside the sandbox. */
  readonly limits: Readonly<Record<LimitKeeper, Capability>>;
  /** The embedded engine of the trace store. */
  readonly traces: EngineProbe;
  /** The ClickHouse server of the environment, where it names one: the embedded engine is not needed then. */
  readonly traceServer?: EngineProbe;
  readonly bus?: Features;
  readonly warnings: readonly string[];
  /** What does not work on this machine, each with the reason. Empty when all is well. */
  readonly off: readonly string[];
}

const KEEPERS = {
  cgroup: 'without it memory and processes of a command are limited one process at a time',
  seccomp: 'without it a command may make system calls that it does not need',
  quota: 'so a command may fill the disk between two looks',
  descriptors: 'a command could use files that the starter of the worker left open',
} as const;
export type LimitKeeper = keyof typeof KEEPERS;

/** Looks at the machine as `up` would find it, by doing what it needs; starts nothing that stays. */
export const examine = async (path: string, clickhouse?: ClickhouseAccess): Promise<Report> => {
  const server = findProgram('nats-server', path);
  const [found, nats, bus, traces, traceServer] = await Promise.all([
    probeCapabilities(path.split(delimiter)),
    probeBusServer(server),
    probeBus({ 'nats-server': server, setpriv: findProgram('setpriv', path) }),
    probeEngine(),
    clickhouse && lookAtServer(clickhouse),
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
    limits: limitsOf(found),
    traces,
    ...(traceServer === undefined ? {} : { traceServer }),
    ...(works ? { bus: bus.features } : {}),
    warnings: [...(works ? busWarnings(bus.features) : []), ...limitWarnings(found)],
    off: [
      ...programs.flatMap(programOff),
      ...sandboxOff(found.namespaces),
      ...tracesOff(traceServer ?? traces),
      ...(works ? [] : [`the bus: ${bus.why}`]),
    ],
  };
};

const KEEPER_NAMES = Object.keys(KEEPERS) as LimitKeeper[];

const limitsOf = (found: Capabilities): Report['limits'] => ({
  cgroup: found.cgroup,
  seccomp: found.seccomp,
  quota: found.quota,
  descriptors: found.descriptors,
});

/** Commands run all the same, within what the other limits keep. */
const limitWarnings = (found: Capabilities): string[] =>
  KEEPER_NAMES.filter((name) => !found[name].works).map(
    (name) => `${name}: ${found[name].reason ?? 'not there'}; ${KEEPERS[name]}`,
  );

const tracesOff = ({ works, reason }: EngineProbe): string[] =>
  works ? [] : [`traces: ${reason ?? 'no engine'}; calls go on without them`];

const lookAtServer = async ({ url, username, passwordFile }: ClickhouseAccess): Promise<EngineProbe> => {
  try {
    const password = passwordFile === undefined ? '' : readFileSync(passwordFile, 'utf8').trim();
    return await probeServer({ url, username, password });
  } catch {
    return { works: false, reason: 'TOOLFABRIC_CLICKHOUSE_PASSWORD_FILE cannot be read' };
  }
};

const probeBusServer = async (path: string | undefined): Promise<Capability> => {
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
