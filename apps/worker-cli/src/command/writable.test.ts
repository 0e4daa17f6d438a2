import { existsSync, linkSync, lstatSync, mkdirSync, readFileSync, rmSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { canonicalJson, sha256Hex } from '@toolfabric/kernel';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { callTool, errorType, type Fixture, makeFixture, makeWorkspace } from '../testing/driver-fixture.ts';
import { git, makeRepository } from '../testing/git-repository.ts';
import { putFile } from '../testing/put-file.ts';
import { waitUntil } from '../testing/wait-until.ts';
import type { OpenRoot } from '../workspace/open-root.ts';
import { openDirectory } from '../workspace/open-root.ts';
import type { WorkspaceRecord } from '../workspace/workspace-record.ts';
import { refuseSharedFiles } from './shared-files.ts';

interface Data {
  readonly exit_code: number | null;
  readonly stdout: { readonly text: string };
}

/** A root worker has two ways into a sandbox, by whether its user can pass the directories above the workspace. */
describe.each([
  ['reachable state directory', true],
  ['state directory that its user cannot pass', false],
])('PO-9: what a command may write in a task that names it, %s', (_, reachable) => {
  let fixture: Fixture;
  let workspace: WorkspaceRecord;
  beforeAll(async () => {
    fixture = await makeFixture({ reachable });
  });
  afterAll(() => fixture.remove());
  beforeEach(async () => {
    const path = join(fixture.root, 'source');
    if (!existsSync(path)) await makeRepository(path, { 'package.json': '{}', 'src/a.ts': 'one' });
    workspace = await makeWorkspace(fixture, { type: 'clone', path });
    await putFile(
      workspace,
      'main.mjs',
      `import { spawnSync } from 'node:child_process';
const end = spawnSync('/bin/bash', ['-c', process.argv[2]], { stdio: 'inherit' });
process.exit(end.status ?? 99);`,
    );
  });

  const begun: string[] = [];
  const beginEffect = async () => void begun.push('begun');
  const call = (line: string, writable: readonly string[] | undefined) =>
    callTool(
      fixture.driver,
      'process.run',
      workspace,
      { argv: ['node', 'main.mjs', line] },
      { beginEffect, ...(writable === undefined ? {} : { writable }) },
    );
  /** What a line of bash says. */
  const said = async (line: string, writable?: readonly string[]) =>
    ((await call(line, writable)).data as unknown as Data).stdout.text.trim();
  const read = (path: string) => readFileSync(join(workspace.root, path), 'utf8');
  const tryEach = (paths: string) =>
    `for f in ${paths}; do (echo x > "$f") 2>/dev/null && echo "wrote $f" || echo "not $f"; done`;

  it('whole directories and files by name, and nothing beside them', async () => {
    const paths = 'src/a.ts src/deep.ts package.json new.txt .git/config .git/hooks/pre-commit src2';
    expect(await said(`mkdir -p src/d && echo made; ${tryEach(`src/d/e ${paths}`)}`, ['src/**'])).toBe(
      'made\nwrote src/d/e\nwrote src/a.ts\nwrote src/deep.ts\nnot package.json\nnot new.txt\nnot .git/config\nnot .git/hooks/pre-commit\nnot src2',
    );
    expect(await said(tryEach('package.json src/a.ts gone.txt'), ['./package.json', './gone.txt'])).toBe(
      'wrote package.json\nnot src/a.ts\nnot gone.txt',
    );
    expect(await said(tryEach('package.json src/a.ts n /tmp/x'), [])).toBe(
      'not package.json\nnot src/a.ts\nnot n\nwrote /tmp/x',
    );
    expect(await said(tryEach('package.json src/a.ts n .git/config'), ['**'])).toBe(
      'wrote package.json\nwrote src/a.ts\nwrote n\nnot .git/config',
    );
    expect(await said(tryEach('.git/config .git/hooks/x'), ['.git/**'])).toBe('not .git/config\nnot .git/hooks/x');
  });

  it('git writes the repository only where the task lets it', async () => {
    await putFile(workspace, 'src/a.ts', 'two');
    begun.length = 0;
    for (const [tool, args] of [
      ['git.commit', { message: 'Change' }],
      ['git.branch', { name: 'fix' }],
    ] as const) {
      const refused = callTool(fixture.driver, tool, workspace, args, { writable: ['src/**'], beginEffect });
      expect(await errorType(refused)).toBe('constraint_violated');
      expect(begun).toEqual([]);
      expect(await callTool(fixture.driver, tool, workspace, args, { writable: ['.git/**'] })).toMatchObject({
        status: 'ok',
        sideEffect: 'confirmed',
      });
    }
    expect(git(workspace.root, '-c', 'safe.directory=*', 'branch', '--show-current')).toBe('fix');
  });

  if (!reachable) return;

  it('nothing is changed, removed, linked, moved or mounted out of its place', async () => {
    const line = `
      t() { "$@" >/dev/null 2>&1 && echo "did $*"; }
      t rm package.json; t mv src other; t mv package.json src/p; t mv src/a.ts a.ts
      t ln package.json src/hard; t chmod 777 package.json; t touch package.json; t truncate -s 0 package.json
      t ln -sf ../package.json src/soft && (echo bad > src/soft) 2>/dev/null && echo through
      t cp --remove-destination /bin/true package.json; t rmdir src; t mkdir other
      t unshare -Urm sh -c 'mount -o remount,rw,bind /workspace || umount /workspace/src'
      (echo bad > /proc/1/root/workspace/package.json) 2>/dev/null && echo root
      (echo bad > src/../package.json) 2>/dev/null && echo dots
      t mv src/a.ts lib/a.ts; t rm -r src`;
    expect(await said(line, ['src/**', 'lib/**'])).toBe(
      'did ln -sf ../package.json src/soft\ndid mv src/a.ts lib/a.ts',
    );
    expect([read('package.json'), read('lib/a.ts')]).toEqual(['{}', 'one']);
  });

  it('a directory that is missing is made, as that of the user of the workspace', async () => {
    expect(await said(tryEach('out/deep/x out/y'), ['out/deep/**'])).toBe('wrote out/deep/x\nnot out/y');
    expect(lstatSync(join(workspace.root, 'out/deep')).uid).toBe(workspace.owner.uid);
    const seen: boolean[] = [];
    const late = { beginEffect: async () => void seen.push(existsSync(join(workspace.root, 'late'))) };
    const argv = ['node', 'main.mjs', 'echo x > late/y'];
    await callTool(fixture.driver, 'process.run', workspace, { argv }, { ...late, writable: ['late/**'] });
    expect([seen, read('late/y')]).toEqual([[false], 'x\n']);
    const no = { beginEffect: () => Promise.reject(new Error('not stored')) };
    const refused = await callTool(fixture.driver, 'process.run', workspace, { argv }, { ...no, writable: ['no/**'] });
    expect([refused.status, existsSync(join(workspace.root, 'no'))]).toEqual(['error', false]);
  });

  it('a link in its way is refused before anything begins, wherever it leads', async () => {
    for (const to of ['src', '..', '/etc', '.git', 'nowhere']) {
      rmSync(join(workspace.root, 'link'), { force: true });
      symlinkSync(to, join(workspace.root, 'link'));
      begun.length = 0;
      for (const glob of ['link/**', 'link/d/**', 'link/a.ts', './link'])
        expect(await errorType(call('true', [glob]))).toBe('constraint_violated');
      expect(begun).toEqual([]);
    }
    for (const glob of ['package.json/**', 'package.json/x/**', 'src/a.ts/b', './src', '*.md'])
      expect(await errorType(call('true', [glob]))).toBe('constraint_violated');
  });

  it('a second name of a file, by a hard link, is refused where it is not writable too', async () => {
    linkSync(
      join(workspace.root, 'package.json'),
      join(workspace.root, 'src/.toolfabric-tmp-00000000000000000000000000'),
    );
    begun.length = 0;
    const ended = await call('echo bad > src/.toolfabric-tmp-00000000000000000000000000', ['src/**']);
    expect(ended).toMatchObject({ status: 'error', error: { type: 'constraint_violated' }, sideEffect: 'none' });
    expect(begun).toEqual([]);
    expect(await call('true', ['./package.json'])).toMatchObject({ error: { type: 'constraint_violated' } });
    expect(await said('echo y > package.json && echo fine', ['src/**', './package.json'])).toBe('fine');
    expect(await said('ln src/a.ts src/again && echo fine', ['src/**', './package.json'])).toBe('fine');
    expect(await said('echo fine', ['src/**', './package.json'])).toBe('fine');
    expect(await call('true', undefined)).toMatchObject({ status: 'ok' });
  });

  it('a sandbox that stands for other constraints serves no command of these', async () => {
    const standing = () => fixture.driver.commands.confinement.standing.count(workspace.id);
    const paths = 'src/a.ts package.json';
    for (const [writable, expected] of [
      [undefined, 'wrote src/a.ts\nwrote package.json'],
      [['src/**'], 'wrote src/a.ts\nnot package.json'],
      [['./package.json'], 'not src/a.ts\nwrote package.json'],
      [[], 'not src/a.ts\nnot package.json'],
      [['src/**', './package.json'], 'wrote src/a.ts\nwrote package.json'],
    ] as const) {
      expect(await said(tryEach(paths), writable)).toBe(expected);
      await waitUntil(() => standing() > 0);
    }
    // The place of the standing one is exchanged: what it still shows is written by nobody.
    expect(await said('echo fine', ['src/**'])).toBe('fine');
    await waitUntil(() => standing() > 0);
    rmSync(join(workspace.root, 'src'), { recursive: true });
    symlinkSync('.git', join(workspace.root, 'src'));
    expect(await errorType(call('true', ['src/**']))).toBe('constraint_violated');
  });

  it('tests and texts of a shell are held to the same', async () => {
    const declared = { argv: ['node', 'main.mjs', tryEach('src/a.ts package.json')] };
    const testCommand = { ...declared, sha256: sha256Hex(canonicalJson(declared)) };
    const tested = await callTool(fixture.driver, 'test.run', workspace, {}, { writable: ['src/**'], testCommand });
    expect(JSON.stringify(tested.data)).toContain('wrote src/a.ts\\nnot package.json');
    const script = 'for f in src/new.txt package.json; do echo x > "$f" && echo "wrote $f"; done';
    const yes = { approval: 'the-yes-of-a-person', writable: ['src/**'] };
    const shell = await callTool(fixture.driver, 'shell.run', workspace, { run: 'run-number-1', script }, yes);
    expect(shell.data).toMatchObject({ mode: 'bash', stdout: { text: 'wrote src/new.txt\n' } });
  });

  it('more than can be looked at is refused', async () => {
    const handle = await openDirectory(workspace.root);
    const root: OpenRoot = { handle, path: workspace.root, owner: workspace.owner };
    mkdirSync(join(workspace.root, 'many'));
    for (let n = 0; n < 3; n += 1) await putFile(workspace, `many/d/${n}`, '');
    const places = { directories: ['many'], files: [], missing: [] };
    await expect(refuseSharedFiles(root, places, 4)).resolves.toBeUndefined();
    await expect(refuseSharedFiles(root, places, 3)).rejects.toMatchObject({ type: 'constraint_violated' });
    await handle.close();
  });
});
