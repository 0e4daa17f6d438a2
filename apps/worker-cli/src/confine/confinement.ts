import { chmod, mkdir, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { randomId } from '@toolfabric/kernel';
import type { Programs } from '../process/find-program.ts';
import type { CallGroups } from './cgroup/call-group.ts';
import { findGroups } from './cgroup/find-groups.ts';
import type { CommandLimits } from './limits.ts';
import { seccompFilter } from './seccomp/filter.ts';
import { StandingSandboxes } from './standing-sandboxes.ts';
import { writeSystemFiles } from './system-files.ts';

export interface ConfinementSettings {
  readonly programs: Programs;
  /** Of this worker, readable by the users of workspaces. */
  readonly directory: string;
  /** Directory for control groups below each controller's mount; the worker's own when left out. */
  readonly cgroup?: string;
  readonly limits: CommandLimits;
  /** Directories of the host that commands see read-only at the same path; their `bin` stands first in `PATH`. */
  readonly toolchains: readonly string[];
}

/** Everything that the commands of one worker are confined with. Compiled once. */
export interface Confinement {
  readonly programs: Programs;
  readonly limits: CommandLimits;
  readonly toolchains: readonly string[];
  /** The `/etc` of a command. */
  readonly etc: string;
  /** Undefined where no filter is known for this architecture. */
  readonly seccomp: string | undefined;
  /** Undefined where control groups cannot be had: then limits hold for each process alone. */
  readonly groups: CallGroups | undefined;
  readonly noGroupsReason: string | undefined;
  /** Sandboxes that wait for the next command of a workspace. */
  readonly standing: StandingSandboxes;
  close(): Promise<void>;
}

/** Bytes of memory and processes that are left free for what runs. */
const FREE_BYTES = 256 * 1024 ** 2;
const FREE_PROCESSES = 64;

/** Nothing waits for work where what works may need the room. */
const hasRoom = (groups: CallGroups | undefined): boolean =>
  process.availableMemory() > FREE_BYTES && (groups?.freeProcesses() ?? FREE_PROCESSES) >= FREE_PROCESSES;

/** Readers of the old file keep it: several workers share one state directory. */
const replace = async (file: string, content: Buffer): Promise<void> => {
  const aside = `${file}.${randomId()}`;
  await writeFile(aside, content, { mode: 0o600, flag: 'wx' });
  await rename(aside, file);
};

export const createConfinement = async (settings: ConfinementSettings): Promise<Confinement> => {
  const { directory, programs, limits, toolchains } = settings;
  await mkdir(directory, { recursive: true, mode: 0o711 });
  await chmod(directory, 0o711);
  // A directory of this start: another worker of the machine may be using its own at the moment.
  const etc = join(directory, `etc-${process.pid}`);
  await writeSystemFiles(etc);
  const filter = seccompFilter();
  const seccomp = filter === undefined ? undefined : join(directory, 'seccomp.bpf');
  if (filter !== undefined && seccomp !== undefined) await replace(seccomp, filter);
  const { groups, reason } = findGroups(settings.cgroup);
  const standing = new StandingSandboxes(() => hasRoom(groups));
  return {
    programs,
    limits,
    toolchains,
    etc,
    seccomp,
    groups,
    noGroupsReason: reason,
    standing,
    close: async () => {
      await standing.close();
      await groups?.close();
    },
  };
};
