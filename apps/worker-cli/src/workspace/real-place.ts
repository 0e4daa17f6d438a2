import { lstat, realpath } from 'node:fs/promises';
import { basename, dirname, join, sep } from 'node:path';

/** Whether `path` is `directory` or lies below it; both are real paths. */
export const holds = (directory: string, path: string): boolean =>
  path === directory || path.startsWith(directory.endsWith(sep) ? directory : directory + sep);

const stands = (path: string): Promise<boolean> =>
  lstat(path).then(
    () => true,
    () => false,
  );

/**
 * The real path, or, where nothing stands, the one that it would have: the real path of the longest beginning that
 * exists, and the rest as it is. Undefined where a link on the way leads to nothing that can be reached.
 */
export const realPlace = async (path: string): Promise<string | undefined> => {
  const real = await realpath(path).catch(() => undefined);
  if (real !== undefined || path === '/') return real ?? path;
  if (await stands(path)) return undefined;
  const above = await realPlace(dirname(path));
  return above && join(above, basename(path));
};
