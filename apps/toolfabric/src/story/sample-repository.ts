import { execFile } from 'node:child_process';
import { chmodSync, cpSync, existsSync, mkdirSync, readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { FabricError } from '@toolfabric/kernel';

const SAMPLE = fileURLToPath(new URL('../../sample', import.meta.url));
const run = promisify(execFile);

/** Where the sample stands; `up` lets tasks clone it. */
export const sampleFolder = (stateDir: string): string => join(stateDir, 'sample', 'tally');

/** The bundled sample as a git repository in `folder`, made afresh. Everybody may read it, since a clone has a user of its own. */
export const makeSampleRepository = async (folder: string, git: string | undefined): Promise<void> => {
  if (git === undefined) throw new FabricError('unavailable', 'the story clones a repository, and git was not found');
  if (existsSync(folder)) rmSync(folder, { recursive: true });
  mkdirSync(folder, { recursive: true });
  cpSync(SAMPLE, folder, { recursive: true });
  const inRepository = (...args: string[]) =>
    run(git, ['-C', folder, ...IDENTITY, ...args], { timeout: 30_000, env: ENV });
  await inRepository('init', '--quiet', '--initial-branch=main');
  await inRepository('add', '--all');
  await inRepository('commit', '--quiet', '--message=A basket that adds up');
  openForReading(folder);
};

const ENV = { PATH: '/usr/local/bin:/usr/bin:/bin', GIT_CONFIG_GLOBAL: '/dev/null', GIT_CONFIG_NOSYSTEM: '1' };
const IDENTITY = ['-c', 'user.name=Tally', '-c', 'user.email=tally@localhost', '-c', 'commit.gpgsign=false'];

const openForReading = (folder: string): void => {
  chmodSync(folder, 0o755);
  for (const entry of readdirSync(folder, { withFileTypes: true })) {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) openForReading(path);
    else chmodSync(path, 0o644);
  }
};
