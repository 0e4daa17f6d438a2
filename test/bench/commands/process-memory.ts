import { readFileSync, writeFileSync } from 'node:fs';

const fieldOf = (pid: number, name: string): number => {
  const text = readFileSync(`/proc/${pid}/status`, 'utf8');
  return Number(new RegExp(`^${name}:\\s+(\\d+) kB$`, 'm').exec(text)?.[1] ?? Number.NaN) / 1024;
};

/** MiB that a process holds now. */
export const residentMiB = (pid: number): number => fieldOf(pid, 'VmRSS');

/** MiB that it held at most since `forgetPeak`. */
export const peakMiB = (pid: number): number => fieldOf(pid, 'VmHWM');

export const forgetPeak = (pid: number): void => writeFileSync(`/proc/${pid}/clear_refs`, '5');
