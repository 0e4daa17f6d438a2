import { readdirSync, readFileSync } from 'node:fs';

const commandOf = (pid: string): string => {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' ');
  } catch {
    return '';
  }
};

const all = (): string[] => readdirSync('/proc').filter((name) => /^\d+$/.test(name));

/** Processes of the machine whose command line holds `marker`. */
export const processesWith = (marker: string): string[] => all().filter((pid) => commandOf(pid).includes(marker));

/** Processes whose whole command line is `command`. */
export const processesThatAre = (command: string): string[] => all().filter((pid) => commandOf(pid).trim() === command);

const parentOf = (pid: string): string => {
  try {
    return /^PPid:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1] ?? '';
  } catch {
    return '';
  }
};

const isUnder = (pid: string, ancestor: string): boolean => {
  for (let parent = parentOf(pid); parent !== '' && parent !== '0'; parent = parentOf(parent))
    if (parent === ancestor) return true;
  return false;
};

/** Those of `processesWith` that were started by the process `ancestor`, or by what it started. */
export const processesUnder = (ancestor: number, marker: string): string[] =>
  processesWith(marker).filter((pid) => isUnder(pid, String(ancestor)));
