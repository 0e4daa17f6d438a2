import { chmod, copyFile, mkdir, readdir, readlink, rm, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

/** Who a command is inside, whoever it is outside: the same for all, so that results can be compared. */
export const INSIDE = { uid: 1000, gid: 1000, name: 'worker', home: '/tmp/home' } as const;

const { uid, gid, name, home } = INSIDE;

const FILES: Readonly<Record<string, string>> = {
  passwd: `${name}:x:${uid}:${gid}::${home}:/usr/sbin/nologin\n`,
  group: `${name}:x:${gid}:\n`,
  hosts: '127.0.0.1 localhost\n::1 localhost\n',
  'nsswitch.conf': 'passwd: files\ngroup: files\nhosts: files\n',
};

/** Where the libraries lie that no default directory holds. */
const LINKER_CACHE = '/etc/ld.so.cache';
/** Which of several programs a common name means. */
const ALTERNATIVES = '/etc/alternatives';

const copyLinks = async (from: string, to: string): Promise<void> => {
  await mkdir(to, { mode: 0o755 });
  for (const entry of await readdir(from, { withFileTypes: true }).catch(() => [])) {
    if (entry.isSymbolicLink()) await symlink(await readlink(join(from, entry.name)), join(to, entry.name));
  }
};

/** Makes the whole `/etc` of a command anew at `directory`: its user, no resolver, and what the linker needs. */
export const writeSystemFiles = async (directory: string): Promise<void> => {
  await rm(directory, { recursive: true, force: true });
  await mkdir(directory, { recursive: true, mode: 0o755 });
  await chmod(directory, 0o755);
  for (const [file, text] of Object.entries(FILES)) await writeFile(join(directory, file), text, { mode: 0o644 });
  await copyFile(LINKER_CACHE, join(directory, 'ld.so.cache')).catch(() => {});
  await copyLinks(ALTERNATIVES, join(directory, 'alternatives'));
};
