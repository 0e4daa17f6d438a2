import {
  chownSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { Worker } from 'node:worker_threads';
import type { WorkspaceSource } from '@toolfabric/contract';
import type { FabricError } from '@toolfabric/kernel';
import { plainRedactor } from '@toolfabric/worker-runtime';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createDriver } from '../driver.ts';
import { runRipgrep } from '../ripgrep/run-ripgrep.ts';
import {
  callTool,
  contextFor,
  errorType,
  type Fixture,
  isRoot,
  makeFixture,
  makeWorkspace,
} from '../testing/driver-fixture.ts';
import { makeRepository } from '../testing/git-repository.ts';
import { cloneRepository } from './clone-repository.ts';
import { openAllowed } from './open-allowed.ts';

let fixture: Fixture;
beforeAll(async () => {
  fixture = await makeFixture();
});
afterAll(() => fixture.remove());

const limits = { timeoutMs: 30_000, signal: new AbortController().signal };
const clone = (path: string): WorkspaceSource => ({ type: 'clone', path });
const existing = (path: string): WorkspaceSource => ({ type: 'existing', path });
const owned = (path: string): string => {
  mkdirSync(path, { recursive: true });
  if (isRoot) chownSync(path, 4_321, 4_321);
  return path;
};

describe('a directory that a task may have', () => {
  it('CL-6: is nothing of a protected directory, by whatever name, but the one source that is named', async () => {
    const project = owned(join(fixture.root, 'with-installation'));
    const installation = join(project, '.installation');
    const sample = await makeRepository(join(installation, 'sample/tally'), { 'a.txt': 'one\n' });
    for (const name of ['keys', 'nats/store']) await makeRepository(join(installation, name), { 'seed.nk': 'CANARY' });
    const link = join(fixture.root, 'to-installation');
    symlinkSync(installation, link);
    const settings = { ...fixture.settings, allowRootOwned: true, protectedDirs: [link], cloneSources: [sample] };
    const { root } = fixture;
    const within = ['', '/keys', '/nats', '/nats/store', '/sample', '/sample/..', '/keys/src', '/not-there'];
    const paths = [root, project, ...within.flatMap((name) => [`${installation}${name}`, `${link}${name}`])];
    for (const path of paths) {
      for (const source of [existing(path), clone(path)]) {
        expect([source, await errorType(makeWorkspace({ ...fixture, settings }, source))]).toEqual([
          source,
          'workspace_refused',
        ]);
      }
    }
    expect(await errorType(makeWorkspace({ ...fixture, settings }, existing(sample)))).toBe('workspace_refused');
    const cloned = await makeWorkspace({ ...fixture, settings }, clone(sample));
    expect(readFileSync(join(cloned.root, 'a.txt'), 'utf8')).toBe('one\n');
    rmSync(sample, { recursive: true });
    symlinkSync(join(installation, 'keys'), sample);
    expect(await errorType(makeWorkspace({ ...fixture, settings }, clone(sample)))).toBe('workspace_refused');
  });

  it('CL-6: what was protected after a workspace was prepared is protected from it too', async () => {
    const path = owned(join(fixture.root, 'prepared-before'));
    const record = await makeWorkspace(fixture, existing(path));
    for (const dir of [path, join(path, 'keys'), fixture.root]) {
      const driver = await createDriver({ ...fixture.settings, protectedDirs: [dir] }, { lockWaitMs: 1_000 });
      expect(await errorType(callTool(driver, 'workspace.read_file', record, { path: 'x' }))).toBe('workspace_refused');
    }
    const driver = await createDriver(
      { ...fixture.settings, protectedDirs: [`${path}-beside`] },
      { lockWaitMs: 1_000 },
    );
    expect(await errorType(callTool(driver, 'workspace.read_file', record, { path: 'x' }))).toBe('file_not_found');
  });

  it('one protected that does not exist yet is protected all the same', async () => {
    const project = owned(join(fixture.root, 'early'));
    const settings = { ...fixture.settings, protectedDirs: [join(project, 'later/state')] };
    for (const path of [project, owned(join(project, 'later')), owned(join(project, 'later/state/keys'))]) {
      expect(await errorType(makeWorkspace({ ...fixture, settings }, existing(path)))).toBe('workspace_refused');
    }
    expect(await errorType(makeWorkspace({ ...fixture, settings }, existing(owned(join(project, 'beside')))))).toBe(
      'none',
    );
  });

  it('outside of the roots, what exists and what does not get one answer', async () => {
    const link = join(fixture.root, 'dangling');
    symlinkSync(join(fixture.base, 'not-there'), link);
    const told = async (path: string, shown: string) => {
      const thrown = await makeWorkspace(fixture, existing(path)).catch((error: unknown) => error);
      return `${(thrown as { type: string }).type} ${String(thrown).replace(shown, 'NAME')}`;
    };
    writeFileSync(join(fixture.base, 'a-file'), '');
    const names = ['state', 'not-there', 'not-there/below', 'a-file', 'a-file/below', '../../../root'];
    const answers = await Promise.all(names.map((name) => told(join(fixture.base, name), join(fixture.base, name))));
    answers.push(await told(link, link));
    expect(new Set(answers).size).toBe(1);
    expect(answers[0]).toMatch(/^workspace_refused .*does not lie below a configured root/);
  });

  it('RT-5: a name that is swapped between a directory and a link to the outside never opens the outside', async () => {
    const box = owned(join(fixture.root, 'swapped'));
    const secret = owned(join(fixture.base, 'secret-directory'));
    owned(join(box, 'name'));
    const swapper = new Worker(
      `const { renameSync: move, symlinkSync } = require('node:fs');
       const { workerData: { box, secret } } = require('node:worker_threads');
       symlinkSync(secret, box + '/link');
       for (;;) {
         move(box + '/name', box + '/aside'); move(box + '/link', box + '/name');
         move(box + '/name', box + '/link'); move(box + '/aside', box + '/name');
       }`,
      { eval: true, workerData: { box, secret } },
    );
    const rules = { roots: [fixture.root], protectedDirs: [], cloneSources: [] };
    const outside = statSync(secret).ino;
    const seen = { inside: 0, refused: 0 };
    try {
      for (let round = 0; round < 40_000 && (seen.inside < 1_000 || seen.refused < 1_000); round += 1) {
        const opened = await openAllowed(join(box, 'name'), rules).catch((thrown: FabricError) => thrown.type);
        if (typeof opened === 'string') {
          seen.refused += opened === 'workspace_refused' ? 1 : 0;
          continue;
        }
        await using handle = opened.handle;
        expect((await handle.stat()).ino).not.toBe(outside);
        expect(opened.path.startsWith(`${box}/`)).toBe(true);
        seen.inside += 1;
      }
    } finally {
      await swapper.terminate();
    }
    expect(seen.inside).toBeGreaterThan(0);
    expect(seen.refused).toBeGreaterThan(0);
  }, 30_000);

  it('RT-5: what a search finds in a directory that was put in the place of the workspace is thrown away', async () => {
    const path = owned(join(fixture.root, 'exchanged'));
    writeFileSync(join(path, 'mine.txt'), 'needle\n');
    const other = owned(join(fixture.root, 'exchanged-other'));
    writeFileSync(join(other, 'other.txt'), 'needle\n');
    const record = await makeWorkspace(fixture, existing(path));
    const ctx = contextFor(record);
    const exchange = () => {
      renameSync(path, `${path}-aside`);
      renameSync(other, path);
      return 'more' as const;
    };
    const putBack = () => {
      renameSync(path, other);
      renameSync(`${path}-aside`, path);
    };
    const searchIn = (before: () => void, onOutput: () => 'more') =>
      fixture.driver.inWorkspace(contextFor(record), async (workspace) => {
        before();
        const request = { options: ['--files'], operands: [], path: '', glob: undefined, onOutput };
        return runRipgrep(fixture.driver, workspace, ctx, request);
      });
    expect(await errorType(searchIn(exchange, () => 'more'))).toBe('workspace_missing');
    putBack();
    expect(await errorType(searchIn(() => {}, exchange))).toBe('workspace_missing');
    putBack();
    expect(
      await errorType(
        searchIn(
          () => {},
          () => 'more',
        ),
      ),
    ).toBe('none');
    const source = await makeRepository(join(fixture.root, 'exchanged-source'), { 'a.txt': 'one\n' });
    const target = owned(join(fixture.base, 'exchanged-target'));
    const { confinement } = fixture.driver.commands;
    const user = isRoot ? { uid: 4_321, gid: 4_321 } : undefined;
    const request = {
      confinement,
      source,
      identity: record.identity,
      target,
      user,
      redactor: plainRedactor,
      ...limits,
    };
    expect(await errorType(cloneRepository(request))).toBe('workspace_refused');
    expect(readdirSync(target)).toEqual([]);
  });
});
