import {
  chmodSync,
  chownSync,
  mkdirSync,
  readdirSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import type { WorkspaceSource } from '@toolfabric/contract';
import { type FabricError, randomId, sha256Hex } from '@toolfabric/kernel';
import { plainRedactor } from '@toolfabric/worker-runtime';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createDriver } from '../driver.ts';
import { callTool, errorType, type Fixture, isRoot, makeFixture, makeWorkspace } from '../testing/driver-fixture.ts';
import { type PrepareLimits, prepareWorkspace } from './prepare-workspace.ts';
import type { WorkspaceSettings } from './workspace-settings.ts';

let fixture: Fixture;
beforeAll(async () => {
  fixture = await makeFixture();
  const { confinement } = fixture.driver.commands;
  limits = { timeoutMs: 30_000, signal: new AbortController().signal, redactor: plainRedactor, confinement };
});
afterAll(() => fixture.remove());

const NEEDLE = sha256Hex('needle\n');
let limits: PrepareLimits;
const existing = (path: string): WorkspaceSource => ({ type: 'existing', path });
const owned = (path: string): string => {
  mkdirSync(path, { recursive: true });
  if (isRoot) chownSync(path, 4_321, 4_321);
  return path;
};

describe('preparing a workspace', () => {
  it('an empty one has a directory of its own that nobody else may enter', async () => {
    const record = await makeWorkspace(fixture);
    expect(readdirSync(record.root)).toEqual([]);
    expect(statSync(record.root).mode & 0o777).toBe(0o700);
    if (isRoot) expect(statSync(record.root).uid).toBe(record.child?.uid);
  });

  it('RE-3: run again, or twice at once, it finds what it made', async () => {
    const ref = { id: `t-${randomId()}`, source: { type: 'empty' as const } };
    const made = await Promise.all([1, 2, 3].map(() => prepareWorkspace(fixture.settings, ref, limits)));
    writeFileSync(join(made[0]?.root ?? '', 'kept'), 'x');
    const again = await prepareWorkspace(fixture.settings, ref, limits);
    expect(new Set([...made, again].map((record) => JSON.stringify(record))).size).toBe(1);
    expect(readdirSync(again.root)).toEqual(['kept']);
  });

  it('RE-3: what a dead worker left half made is made anew; what it had renamed is kept', async () => {
    const ref = { id: `t-${randomId()}`, source: { type: 'empty' as const } };
    mkdirSync(join(fixture.settings.layout.staging, ref.id));
    writeFileSync(join(fixture.settings.layout.staging, ref.id, 'half'), '');
    const record = await prepareWorkspace(fixture.settings, ref, limits);
    expect(readdirSync(record.root)).toEqual([]);
    writeFileSync(join(record.root, 'work'), '');
    rmSync(join(fixture.settings.layout.records, `${ref.id}.json`));
    expect(await prepareWorkspace(fixture.settings, ref, limits)).toEqual(record);
    expect(readdirSync(record.root)).toEqual(['work']);
  });

  it('one that vanished, or was exchanged for another directory, is missing', async () => {
    const record = await makeWorkspace(fixture);
    renameSync(record.root, `${record.root}-moved`);
    const call = () => errorType(callTool(fixture.driver, 'workspace.list_files', record, {}));
    expect(await call()).toBe('workspace_missing');
    mkdirSync(record.root);
    expect(await call()).toBe('workspace_missing');
    rmSync(record.root, { recursive: true });
    symlinkSync(`${record.root}-moved`, record.root);
    expect(await call()).toBe('workspace_missing');
    expect(await errorType(prepareWorkspace(fixture.settings, record, limits))).toBe('workspace_missing');
  });

  it('an id with another source, or one that is no id, is refused', async () => {
    const record = await makeWorkspace(fixture);
    const other = { id: record.id, source: existing(fixture.root) };
    expect(await errorType(prepareWorkspace(fixture.settings, other, limits))).toBe('workspace_refused');
    for (const id of ['', '..', 'a/b', '../x', 'A', '-x', 'x'.repeat(90)]) {
      const ref = { id, source: { type: 'empty' as const } };
      expect(await errorType(prepareWorkspace(fixture.settings, ref, limits))).toBe('workspace_refused');
    }
  });

  it('as the tool: tells type and user, and nothing about the host', async () => {
    const ref = { id: `t-${randomId()}`, source: { type: 'empty' as const } };
    const outcome = await callTool(fixture.driver, 'workspace.prepare', ref, {});
    expect(outcome).toMatchObject({ status: 'ok', sideEffect: 'none', data: { workspace: ref.id, type: 'empty' } });
    expect(JSON.stringify(outcome)).not.toContain(fixture.base);
    expect(await errorType(callTool(fixture.driver, 'workspace.prepare', undefined, {}))).toBe('workspace_missing');
  });

  if (isRoot) {
    it('CL-6: each has a user of its own, which is not root', async () => {
      const records = await Promise.all(Array.from({ length: 8 }, () => makeWorkspace(fixture)));
      const uids = records.map(({ child }) => child?.uid ?? 0);
      expect(new Set(uids).size).toBe(8);
      expect(uids.every((uid) => uid >= 40_000 && uid < 60_000)).toBe(true);
    });

    it('no two share a user when the range is full: the next one is refused', async () => {
      const settings: WorkspaceSettings = {
        ...fixture.settings,
        layout: { ...fixture.settings.layout, users: join(fixture.base, 'few') },
        users: { first: 50_000, count: 3 },
      };
      mkdirSync(settings.layout.users);
      const make = () => makeWorkspace({ ...fixture, settings });
      const uids = [await make(), await make(), await make()].map(({ child }) => child?.uid);
      expect(uids.toSorted()).toEqual([50_000, 50_001, 50_002]);
      expect(await errorType(make())).toBe('workspace_refused');
    });
  }
});

describe('an existing directory', () => {
  it('is used where it is, as its owner, and two tasks on it share one lock', async () => {
    const path = owned(join(fixture.root, 'project'));
    const one = await makeWorkspace(fixture, existing(path));
    const two = await makeWorkspace(fixture, existing(`${path}/../project/`));
    expect([one.root, two.root]).toEqual([path, path]);
    expect(one.lock).toBe(two.lock);
    if (isRoot) expect(one.child).toEqual({ uid: 4_321, gid: 4_321 });
  });

  it.each([
    ['outside of every root', () => fixture.base],
    ['above the root', () => join(fixture.root, '..')],
    ['a sibling that begins like the root', () => owned(`${fixture.root}-sibling`)],
    [
      'a link that leads out',
      () => {
        symlinkSync(fixture.base, join(fixture.root, 'out'));
        return join(fixture.root, 'out');
      },
    ],
    ['a relative path', () => 'project'],
    ['the whole machine', () => '/'],
    ['a path with NUL', () => `${fixture.root}\0/x`],
    ['a .git directory', () => owned(join(fixture.root, 'repo/.git'))],
    ['below a .git directory', () => owned(join(fixture.root, 'repo/.git/hooks'))],
    [
      'a file',
      () => {
        writeFileSync(join(fixture.root, 'file'), '');
        return join(fixture.root, 'file');
      },
    ],
    [
      'a bare repository',
      () => {
        const path = owned(join(fixture.root, 'bare.git'));
        for (const name of ['objects', 'refs']) mkdirSync(join(path, name));
        writeFileSync(join(path, 'HEAD'), 'ref: refs/heads/main\n');
        return path;
      },
    ],
  ])('RT-5: %s is refused', async (_, path) => {
    expect(await errorType(makeWorkspace(fixture, existing(path())))).toBe('workspace_refused');
  });

  it('one that does not exist is missing', async () => {
    expect(await errorType(makeWorkspace(fixture, existing(join(fixture.root, 'nowhere'))))).toBe('workspace_missing');
  });

  it('the state of the installation is never part of a workspace', async () => {
    const settings = { ...fixture.settings, roots: [fixture.base] };
    for (const path of [fixture.base, fixture.settings.layout.state, fixture.settings.layout.workspaces]) {
      expect(await errorType(makeWorkspace({ ...fixture, settings }, existing(path)))).toBe('workspace_refused');
    }
  });

  if (isRoot) {
    it('CL-6: one of root is refused, unless a person allowed it: then children are nobody', async () => {
      const path = join(fixture.root, 'of-root');
      mkdirSync(path);
      chmodSync(path, 0o755);
      writeFileSync(join(path, 'open.txt'), 'needle\n', { mode: 0o644 });
      writeFileSync(join(path, 'closed.txt'), 'needle\n', { mode: 0o600 });
      expect(await errorType(makeWorkspace(fixture, existing(path)))).toBe('workspace_refused');
      const settings = { ...fixture.settings, allowRootOwned: true };
      chmodSync(path, 0o700);
      expect(await errorType(makeWorkspace({ ...fixture, settings }, existing(path)))).toBe('workspace_refused');
      chmodSync(path, 0o755);
      const record = await makeWorkspace({ ...fixture, settings }, existing(path));
      expect(record).toMatchObject({ owner: { uid: 0 }, child: { uid: 65_534, gid: 65_534 } });
      const driver = await createDriver(settings, { lockWaitMs: 1_000 });
      const found = await callTool(driver, 'workspace.search_code', record, { pattern: 'needle' });
      expect(found.data).toMatchObject({ files: [{ path: 'open.txt' }], stopped_by: 'unreadable_files' });
      const args = { path: 'open.txt', old_text: '', new_text: 'x', expected_sha256: 'absent' };
      expect((await callTool(driver, 'workspace.edit_file', record, { ...args, path: 'new.txt' })).status).toBe('ok');
      expect(statSync(join(path, 'new.txt')).uid).toBe(0);
    });

    it('CL-6: in one of root, root has no rights over what belongs to other people', async () => {
      const path = join(fixture.root, 'of-root-and-others');
      const put = (name: string, mode: number, uid: number) => {
        const text = join(path, name);
        writeFileSync(text, 'needle\n');
        chmodSync(text, mode);
        chownSync(text, uid, uid);
      };
      const folder = (name: string, mode: number, uid: number) => {
        mkdirSync(join(path, name), { recursive: true });
        chmodSync(join(path, name), mode);
        chownSync(join(path, name), uid, uid);
      };
      folder('.', 0o755, 0);
      folder('closed', 0o700, 4_321);
      folder('open', 0o755, 4_321);
      put('root.txt', 0o600, 0);
      put('private.txt', 0o600, 4_321);
      put('public.txt', 0o644, 4_321);
      put('shared.txt', 0o666, 4_321);
      put('closed/in.txt', 0o666, 4_321);
      const settings = { ...fixture.settings, allowRootOwned: true };
      const record = await makeWorkspace({ ...fixture, settings }, existing(path));
      const read = (name: string) => errorType(callTool(fixture.driver, 'workspace.read_file', record, { path: name }));
      const edit = (name: string, expected_sha256 = NEEDLE) => {
        const texts = expected_sha256 === NEEDLE ? ['needle', 'changed'] : ['', 'x'];
        const args = { path: name, old_text: texts[0], new_text: texts[1], expected_sha256 };
        const told = callTool(fixture.driver, 'workspace.edit_file', record, args);
        return told.then(
          ({ error }) => error?.type ?? 'none',
          (thrown: FabricError) => thrown.type,
        );
      };
      for (const name of ['root.txt', 'public.txt', 'shared.txt'])
        expect([name, await read(name)]).toEqual([name, 'none']);
      for (const name of ['private.txt', 'closed/in.txt']) expect(await read(name)).toBe('permission_denied');
      for (const name of ['private.txt', 'public.txt', 'closed/in.txt']) {
        expect([name, await edit(name)]).toEqual([name, 'permission_denied']);
      }
      for (const name of ['open/new.txt', 'open/new/new.txt', 'closed/new.txt']) {
        expect([name, await edit(name, 'absent')]).toEqual([name, 'permission_denied']);
      }
      expect(readdirSync(join(path, 'open'))).toEqual([]);
      for (const name of ['root.txt', 'shared.txt']) expect([name, await edit(name)]).toEqual([name, 'none']);
      expect([statSync(join(path, 'shared.txt')).uid, statSync(join(path, 'root.txt')).uid]).toEqual([4_321, 0]);
    });

    it('CL-6: the group of root is no group of a child', async () => {
      const path = owned(join(fixture.root, 'group-root'));
      chownSync(path, 4_321, 0);
      expect((await makeWorkspace(fixture, existing(path))).child).toEqual({ uid: 4_321, gid: 65_534 });
    });
  }
});
