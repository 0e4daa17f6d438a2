import { posix } from 'node:path';

/**
 * A path that a runner wrote, relative to the workspace root; undefined for one outside of it. `inside` is where the
 * workspace stood for the runner, `cwd` where it ran, relative to the root.
 */
export const workspacePathOf = (file: string, inside: string, cwd: string): string | undefined => {
  const plain = file.startsWith('file://') ? file.slice('file://'.length) : file;
  const absolute = posix.normalize(plain.startsWith('/') ? plain : posix.join(inside, cwd, plain));
  return absolute.startsWith(`${inside}/`) ? absolute.slice(inside.length + 1) : undefined;
};
