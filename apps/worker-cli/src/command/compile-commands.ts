import { join } from 'node:path';
import { RecentContents } from '../changes/contents.ts';
import { createConfinement } from '../confine/confinement.ts';
import type { CommandLimits } from '../confine/limits.ts';
import { KNOWN_PROGRAMS } from '../programs/resolve-program.ts';
import type { WorkspaceSettings } from '../workspace/workspace-settings.ts';
import type { CommandSettings } from './command-settings.ts';
import { RunRecords } from './run-record.ts';

/** What a person may set. */
export interface CommandOptions extends CommandLimits {
  readonly outputBytes: number;
  readonly workspaceBytes: number;
  /** Milliseconds without progress after which the artifact store is given up for a stream. */
  readonly stallMs: number;
  /** Names of programs that are allowed; what has no table is never allowed. */
  readonly programs: readonly string[];
  /** Directories of the host that commands see read-only; their `bin` stands first in `PATH`. */
  readonly toolchains: readonly string[];
  /** Directory for control groups, below the mount of each controller; the worker's own when empty. */
  readonly cgroup: string;
}

const MIB = 1024 ** 2;
const GIB = 1024 ** 3;

export const COMMAND_DEFAULTS: CommandOptions = {
  memoryBytes: 2 * GIB,
  processes: 512,
  cpuMs: 30 * 60_000,
  fileBytes: 2 * GIB,
  tmpBytes: 512 * MIB,
  outputBytes: 256 * MIB,
  workspaceBytes: 8 * GIB,
  stallMs: 10_000,
  programs: KNOWN_PROGRAMS,
  toolchains: [],
  cgroup: '',
};

/** Workspaces whose text files are remembered, and bytes of each. */
const REMEMBERED = { workspaces: 8, bytes: 8 * MIB };
const SYSTEM_DIRECTORIES = ['/usr/local/bin', '/usr/bin', '/bin'];

export const compileCommands = async (
  { layout, programs }: WorkspaceSettings,
  options: Partial<CommandOptions>,
): Promise<CommandSettings> => {
  const all = { ...COMMAND_DEFAULTS, ...options };
  const confinement = await createConfinement({
    programs,
    directory: layout.confine,
    limits: all,
    toolchains: all.toolchains,
    ...(all.cgroup === '' ? {} : { cgroup: all.cgroup }),
  });
  return {
    confinement,
    programs: {
      names: all.programs.filter((name) => KNOWN_PROGRAMS.includes(name)),
      directories: [...all.toolchains.map((directory) => join(directory, 'bin')), ...SYSTEM_DIRECTORIES],
    },
    records: await RunRecords.open(layout.runs),
    contents: new RecentContents(REMEMBERED.workspaces, REMEMBERED.bytes),
    outputBytes: all.outputBytes,
    workspaceBytes: all.workspaceBytes,
    stallMs: all.stallMs,
  };
};
