import { readFileSync } from 'node:fs';

/** What a program said last, as one line. */
export const lastLines = (file: string): string =>
  readFileSync(file, 'utf8').trimEnd().split('\n').slice(-3).join(' | ');
