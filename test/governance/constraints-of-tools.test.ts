import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { lstatSync, mkdirSync, readdirSync, readFileSync, readlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { loadBuiltinContracts } from '@toolfabric/catalogue';
import type { FabricClient } from '@toolfabric/client';
import { type Json, uuidv7 } from '@toolfabric/kernel';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ADA, Cluster } from '../support/cluster.ts';

let cluster: Cluster;
let client: FabricClient;
let source = '';
let remote = '';

const git = (...args: string[]): string =>
  execFileSync('git', ['-c', 'safe.directory=*', '-c', 'user.name=a', '-c', 'user.email=a@localhost', ...args], {
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'ignore'],
  }).trim();

/** Writes wherever it can. */
const ROAM = `import fs from 'node:fs';
const tell = (path) => { try { fs.writeFileSync(path, 'written'); console.log('wrote', path); } catch (thrown) { console.log(thrown.code, path); } };
fs.mkdirSync('src/made', { recursive: true });
for (const path of ['src/made/x', 'src/a.ts', 'package.json', 'new.txt', '.git/config', '.git/hooks/post-commit']) tell(path);
fs.rmSync('package.json', { force: true });
`;

beforeAll(async () => {
  cluster = await Cluster.startWith(['gateway']);
  execFileSync('chmod', ['755', cluster.directory]);
  const policy = join(cluster.directory, 'policy');
  mkdirSync(join(policy, 'tenants', ADA.tenant), { recursive: true });
  const rule = '@id("shell")\npermit (principal, action == Action::"shell.run", resource);\n';
  writeFileSync(join(policy, 'tenants', ADA.tenant, 'shell.cedar'), rule);
  const remotes = join(cluster.directory, 'remotes');
  remote = join(remotes, 'r.git');
  git('init', '--quiet', '--bare', '--initial-branch=main', remote);
  if (process.getuid?.() === 0) execFileSync('chown', ['-R', '50123:50123', remote]);
  source = join(cluster.workspaceRoot, 'source');
  git('init', '--quiet', '--initial-branch=main', source);
  mkdirSync(join(source, 'src'));
  for (const [path, text] of [
    ['package.json', '{}'],
    ['src/a.ts', 'one'],
    ['src/roam.mjs', ROAM],
  ] as const)
    writeFileSync(join(source, path), text);
  git('-C', source, 'add', '--all');
  git('-C', source, 'commit', '--quiet', '--message=first');
  await Promise.all([
    cluster.spawn('router', '', { TOOLFABRIC_TENANCY: 'single', TOOLFABRIC_POLICY_DIR: policy }).ready,
    cluster.spawn('cli', '', { TOOLFABRIC_GIT_REMOTES: remotes }).ready,
  ]);
  client = cluster.client();
}, 60_000);
afterAll(() => cluster.stop());

/** Everything below a directory but what lies in `src`, by content. */
const digest = (directory: string, path = ''): string => {
  const hash = createHash('sha256');
  for (const name of readdirSync(join(directory, path)).sort()) {
    const at = join(path, name);
    if (at === 'src') continue;
    const stats = lstatSync(join(directory, at));
    const content = stats.isDirectory()
      ? digest(directory, at)
      : stats.isSymbolicLink()
        ? readlinkSync(join(directory, at))
        : readFileSync(join(directory, at));
    hash.update(`${at}\0${stats.mode}\0`).update(content);
  }
  return hash.digest('hex');
};

const task = async (writable: string[]) => {
  const { taskId } = await client.createTask(
    {
      title: 'kept',
      workspace: { type: 'clone', path: source },
      testCommand: { argv: ['node', 'src/roam.mjs'] },
      constraints: { writable },
    },
    { timeoutMs: 20_000 },
  );
  return { taskId, folder: join(cluster.directory, 'state/workspaces', taskId) };
};

/** A person says yes where one is asked. */
const carryOut = async (taskId: string, tool: string, args: Record<string, Json>) => {
  const begun = await client.call({ taskId, tool, args }, { waitMs: 20_000 });
  if (begun.state !== 'awaiting_approval') return begun;
  await cluster.grant(begun.callId);
  return cluster.waitForState(begun.callId, ['ok', 'error', 'denied', 'unknown']);
};

const ROAMED = 'wrote src/made/x\nwrote src/a.ts\nEROFS package.json\nEROFS new.txt\nEROFS .git/config';
const absent = { old_text: '', new_text: 'x', expected_sha256: 'absent' };

/** What each tool is asked to do beside `src`, and how it ends in a task that lets `src/**` be written. */
const ASKED: Record<string, { args: Record<string, Json>; ends: string; says?: string }> = {
  'workspace.edit_file': { args: { path: 'new.txt', ...absent }, ends: 'constraint_violated' },
  'workspace.read_file': { args: { path: 'package.json' }, ends: 'ok' },
  'workspace.list_files': { args: {}, ends: 'ok' },
  'workspace.search_code': { args: { pattern: 'one' }, ends: 'ok' },
  'process.run': { args: { argv: ['node', 'src/roam.mjs'] }, ends: 'reported_failure', says: ROAMED },
  'test.run': { args: {}, ends: 'ok', says: ROAMED },
  'shell.run': {
    args: { run: uuidv7(), script: 'for f in src/*.mjs; do node $f; done' },
    ends: 'reported_failure',
    says: ROAMED,
  },
  'git.status': { args: {}, ends: 'ok' },
  'git.diff': { args: {}, ends: 'ok' },
  'git.branch': { args: { name: 'fix' }, ends: 'constraint_violated' },
  'git.commit': { args: { message: 'Change' }, ends: 'constraint_violated' },
  'git.push': { args: {}, ends: 'ok' },
};

describe('PO-9: a task that lets src/** be written', () => {
  it('is asked of every tool of the command executor', () => {
    const tools = loadBuiltinContracts().filter(({ execution, internal }) => execution.adapter === 'cli' && !internal);
    expect([...new Set(tools.map(({ name }) => name))].sort()).toEqual(Object.keys(ASKED).sort());
  });

  it('holds in each of them: nothing else of the workspace is written', async () => {
    const { taskId, folder } = await task(['src/**']);
    const before = digest(folder);
    for (const [tool, { args, ends, says }] of Object.entries(ASKED)) {
      const pushed = { remote, branch: 'kept', commit: git('-C', folder, 'rev-parse', 'HEAD') };
      const { state, result } = await carryOut(taskId, tool, tool === 'git.push' ? pushed : args);
      expect({ tool, ends: result?.error?.type ?? state }).toEqual({ tool, ends });
      if (says !== undefined) expect(JSON.stringify(result?.data)).toContain(JSON.stringify(says).slice(1, -1));
      expect({ tool, digest: digest(folder) }).toEqual({ tool, digest: before });
    }
    expect(readFileSync(join(folder, 'src/a.ts'), 'utf8')).toBe('written');
    expect(git('-C', remote, 'rev-parse', 'kept')).toBe(git('-C', folder, 'rev-parse', 'HEAD'));
  }, 60_000);

  it('and is not said to hold where it cannot: the glob is named', async () => {
    const { taskId } = await task(['src/**', '**/*.md']);
    const view = await client.call({ taskId, tool: 'process.run', args: { argv: ['true'] } });
    expect(view).toMatchObject({
      state: 'refused',
      result: { error: { type: 'constraint_violated' }, sideEffect: 'none' },
    });
    expect(view.result?.summary).toContain('**/*.md');
  });
});
