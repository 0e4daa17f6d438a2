import { posix } from 'node:path';

/** Where commands see their workspace. */
const INSIDE = '/workspace';

export type PlaceOfPath =
  | { readonly in: 'workspace'; readonly path: string }
  /** Gone with the command, or nothing at all. */
  | { readonly in: 'nowhere' }
  | { readonly in: 'elsewhere' };

const relative = (path: string): PlaceOfPath =>
  path.startsWith('/') || path === '..' || path.startsWith('../')
    ? { in: 'elsewhere' }
    : { in: 'workspace', path: path.replace(/(.)\/+$/, '$1') };

/** Where a path of a text leads, read from `cwd`, a directory of the workspace. No link is looked at. */
export const placeOfPath = (cwd: string, path: string): PlaceOfPath => {
  if (!path.startsWith('/')) return relative(posix.normalize(posix.join(cwd, path)));
  const plain = posix.normalize(path).replace(/^\/+/, '/');
  if (plain === '/dev/null' || plain === '/tmp' || plain.startsWith('/tmp/')) return { in: 'nowhere' };
  if (plain === INSIDE || plain.startsWith(`${INSIDE}/`))
    return relative(posix.normalize(`.${plain.slice(INSIDE.length)}`));
  return { in: 'elsewhere' };
};
