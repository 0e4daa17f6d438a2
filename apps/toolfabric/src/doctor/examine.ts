import type { Features } from '@toolfabric/bus-nats';
import { askProgram, versionIn } from '../programs/ask-program.ts';
import { findPrograms, PROGRAM_NAMES, PROGRAMS, type ProgramName, type Programs } from '../programs/programs.ts';
import { busWarnings, probeBus } from './probe-bus.ts';
import { type Finding, probeSandbox } from './probe-sandbox.ts';

export interface ProgramReport {
  readonly name: ProgramName;
  readonly needed: boolean;
  readonly purpose: string;
  readonly path?: string;
  readonly version?: string;
}

export interface Report {
  readonly node: string;
  readonly programs: readonly ProgramReport[];
  readonly sandbox: Finding;
  readonly bus?: Features;
  readonly warnings: readonly string[];
  /** What does not work on this machine, each with the reason. Empty when all is well. */
  readonly off: readonly string[];
}

/** Looks at the machine as `up` would find it; starts nothing that stays. */
export const examine = async (path: string, also?: readonly string[]): Promise<Report> => {
  const programs = findPrograms(path, also);
  const [reports, sandbox, bus] = await Promise.all([
    Promise.all(PROGRAM_NAMES.map((name) => reportOn(name, programs))),
    probeSandbox(programs),
    probeBus(programs),
  ]);
  const found = 'features' in bus;
  return {
    node: process.versions.node,
    programs: reports,
    sandbox,
    ...(found ? { bus: bus.features } : {}),
    warnings: found ? busWarnings(bus.features) : [],
    off: [...missing(reports), ...sandboxOff(sandbox), ...(found ? [] : [`the bus: ${bus.why}`])],
  };
};

const reportOn = async (name: ProgramName, programs: Programs): Promise<ProgramReport> => {
  const { for: purpose, linuxOnly } = PROGRAMS[name];
  const path = programs[name];
  const base = { name, purpose, needed: !linuxOnly || process.platform === 'linux' };
  if (path === undefined) return base;
  const version = versionIn((await askProgram(path, ['--version'])).text);
  return { ...base, path, ...(version === undefined ? {} : { version }) };
};

const missing = (reports: readonly ProgramReport[]): string[] =>
  reports
    .filter(({ path, needed }) => needed && path === undefined)
    .map(({ name, purpose }) => `${purpose}: ${name} is missing; run scripts/setup, or install it`);

const sandboxOff = (sandbox: Finding): string[] =>
  sandbox.works
    ? []
    : [`every tool that runs a command (workspace.search_code, clones): no sandbox can be made here: ${sandbox.why}`];
