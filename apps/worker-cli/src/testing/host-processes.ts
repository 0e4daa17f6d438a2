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
