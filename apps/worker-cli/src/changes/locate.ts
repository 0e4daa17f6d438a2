import { closeSync, constants, openSync } from 'node:fs';
import { O_PATH } from '../workspace/open-root.ts';

const OPEN = O_PATH | constants.O_DIRECTORY | constants.O_NOFOLLOW;

/** A path to `path` below an open root, part by part and never through a link; undefined where that is not possible. */
export const locateBelow = (root: number, path: string): { at: string; close(): void } | undefined => {
  const parts = path.split('/');
  const name = parts.pop() ?? '';
  const opened: number[] = [];
  const close = () => {
    for (const descriptor of opened) closeSync(descriptor);
  };
  let here = root;
  try {
    for (const part of parts) {
      here = openSync(`/proc/self/fd/${here}/${part}`, OPEN);
      opened.push(here);
    }
    return { at: `/proc/self/fd/${here}/${name}`, close };
  } catch {
    close();
    return undefined;
  }
};
