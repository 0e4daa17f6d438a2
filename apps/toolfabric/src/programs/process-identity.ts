import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { z } from 'zod';

/** A process id together with its start, since the system gives an id again. */
export const ProcessIdentity = z.object({ pid: z.int().positive(), startedAt: z.string().min(1) });
export type ProcessIdentity = z.infer<typeof ProcessIdentity>;

/** The start of a living process in the system's own terms, or undefined when there is none. */
export const startOf = (pid: number): string | undefined => {
  if (process.platform === 'linux') return startFromProc(pid);
  try {
    return (
      execFileSync('ps', ['-o', 'lstart=', '-p', String(pid)], { encoding: 'utf8', timeout: 5_000 }).trim() || undefined
    );
  } catch {
    return undefined;
  }
};

const startFromProc = (pid: number): string | undefined => {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    // The name in brackets may hold anything; fields are counted from its end. 'Z' is dead and not yet collected.
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    return fields[0] === 'Z' ? undefined : `${bootId()}/${fields[19]}`;
  } catch {
    return undefined;
  }
};

const bootId = (): string => readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim();

export const identify = (pid: number): ProcessIdentity | undefined => {
  const startedAt = startOf(pid);
  return startedAt === undefined ? undefined : { pid, startedAt };
};

/** Whether that very process is still there. */
export const isAlive = ({ pid, startedAt }: ProcessIdentity): boolean => startOf(pid) === startedAt;
