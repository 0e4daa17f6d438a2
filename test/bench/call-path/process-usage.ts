import { readFileSync } from 'node:fs';

/** Milliseconds of one tick in the kernel's process statistics: 100 ticks a second on every Linux that Node runs on. */
const TICK_MS = 10;

/** CPU time of a process since its start, all threads and ended children, user and system, in milliseconds. */
export const cpuMsOf = (pid: number): number => {
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
  // The name of the program may hold spaces and brackets; the fields are counted behind it.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return (Number(fields[11]) + Number(fields[12]) + Number(fields[13]) + Number(fields[14])) * TICK_MS;
};

export interface Memory {
  /** MiB now, and the most that it ever was. */
  readonly residentMiB: number;
  readonly peakMiB: number;
}

export const memoryOf = (pid: number): Memory => {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8');
  const mib = (field: string) => Number(new RegExp(`^${field}:\\s+(\\d+)`, 'm').exec(status)?.[1]) / 1024;
  return { residentMiB: mib('VmRSS'), peakMiB: mib('VmHWM') };
};

export type Pids = Readonly<Record<string, number>>;
export type CpuMs = Readonly<Record<string, number>>;

export const cpuOf = (pids: Pids): CpuMs =>
  Object.fromEntries(Object.entries(pids).map(([name, pid]) => [name, cpuMsOf(pid)]));

export const cpuBetween = (before: CpuMs, after: CpuMs): CpuMs =>
  Object.fromEntries(Object.entries(after).map(([name, ms]) => [name, ms - (before[name] ?? 0)]));

export const addCpu = (a: CpuMs, b: CpuMs): CpuMs =>
  Object.fromEntries([...new Set([...Object.keys(a), ...Object.keys(b)])].map((k) => [k, (a[k] ?? 0) + (b[k] ?? 0)]));

/** CPU time of the whole machine that was not idle, in milliseconds over all cores. */
export const busyMsOfMachine = (): number => {
  const line = readFileSync('/proc/stat', 'utf8').split('\n', 1)[0] ?? '';
  const [user = 0, nice = 0, system = 0, , , irq = 0, softirq = 0, steal = 0] = line.split(/\s+/).slice(1).map(Number);
  return (user + nice + system + irq + softirq + steal) * TICK_MS;
};
