import { execFileSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { chown } from 'node:fs/promises';
import { join } from 'node:path';
import type { Json } from '@toolfabric/kernel';
import type { WorkspaceRecord } from '../workspace/workspace-record.ts';
import { callTool, type Fixture, isRoot, makeFixture, makeWorkspace } from './driver-fixture.ts';
import { git, makeRepository } from './git-repository.ts';

export const put = async ({ root, owner }: WorkspaceRecord, path: string, text: string): Promise<void> => {
  mkdirSync(join(root, path, '..'), { recursive: true });
  writeFileSync(join(root, path), text);
  if (isRoot) await chown(join(root, path), owner.uid, owner.gid);
};
export const look = ({ root }: WorkspaceRecord, ...args: string[]): string =>
  git(root, '-c', 'safe.directory=*', ...args);
export const atRemote = (path: string, ...args: string[]): string => git(path, '-c', 'safe.directory=*', ...args);
export const data = (outcome: { data?: unknown }): Record<string, Json> => outcome.data as Record<string, Json>;

interface Hooks {
  readonly beforeAll: (run: () => Promise<void>) => void;
  readonly afterAll: (run: () => Promise<void>) => void;
}

/** A driver whose tools write to clones and push to bare repositories; made and removed with the file of tests that asks. */
export const useGitFixture = ({ beforeAll, afterAll }: Hooks) => {
  let made: Fixture | undefined;
  let count = 0;
  const fixture = (): Fixture => {
    if (made === undefined) throw new Error('only while tests run');
    return made;
  };

  beforeAll(async () => {
    made = await makeFixture({ remotes: true });
    mkdirSync(join(made.base, 'remotes'), { mode: 0o755 });
  });
  afterAll(async () => made?.remove());

  /** A clone of a fresh repository: the tools write to what belongs to the user of the workspace. */
  const makeClone = async (files: Record<string, string> = { 'a.txt': 'one\n' }): Promise<WorkspaceRecord> => {
    count += 1;
    const path = await makeRepository(join(fixture().root, `source-${count}`), files);
    return makeWorkspace(fixture(), { type: 'clone', path });
  };

  const makeRemote = async (): Promise<string> => {
    count += 1;
    const path = join(fixture().base, 'remotes', `r${count}.git`);
    execFileSync('git', ['init', '--quiet', '--bare', '--initial-branch=main', path]);
    if (isRoot) execFileSync('chown', ['-R', '50123:50123', path]);
    return path;
  };

  const commitOf = async (workspace: WorkspaceRecord, message = 'change'): Promise<string> =>
    String(data(await callTool(fixture().driver, 'git.commit', workspace, { message }))['commit']);

  return { fixture, makeClone, makeRemote, commitOf };
};
