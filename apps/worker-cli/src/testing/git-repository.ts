import { execFileSync } from 'node:child_process';
import { mkdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';

const ENV = {
  PATH: '/usr/local/bin:/usr/bin:/bin',
  HOME: '/nonexistent',
  GIT_CONFIG_NOSYSTEM: '1',
  GIT_AUTHOR_NAME: 'a',
  GIT_AUTHOR_EMAIL: 'a@localhost',
  GIT_COMMITTER_NAME: 'a',
  GIT_COMMITTER_EMAIL: 'a@localhost',
};

export const git = (directory: string, ...args: string[]): string =>
  execFileSync('git', ['-C', directory, ...args], {
    env: ENV,
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'ignore'],
  }).trim();

export const commitAll = (directory: string): void => {
  git(directory, 'add', '--all');
  git(directory, 'commit', '--quiet', '--message=change');
};

/** A repository with one commit on `main`; everybody may read it. */
export const makeRepository = async (path: string, files: Readonly<Record<string, string>>): Promise<string> => {
  await mkdir(path, { recursive: true, mode: 0o755 });
  git(path, 'init', '--quiet', '--initial-branch=main');
  for (const [name, content] of Object.entries(files)) {
    await mkdir(dirname(join(path, name)), { recursive: true });
    await writeFile(join(path, name), content);
  }
  commitAll(path);
  return path;
};
