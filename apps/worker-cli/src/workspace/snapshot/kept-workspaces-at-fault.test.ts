import { execFileSync } from 'node:child_process';
import { lstatSync, readdirSync, readFileSync, readlinkSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { FabricError, sha256Hex } from '@toolfabric/kernel';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { errorType } from '../../testing/driver-fixture.ts';
import { makeRepository } from '../../testing/git-repository.ts';
import { KeptPair, type KeptRef } from '../../testing/kept-pair.ts';
import { waitUntil } from '../../testing/wait-until.ts';

let pair: KeptPair;
beforeEach(async () => {
  pair = await KeptPair.open();
});
afterEach(() => pair.close());

const ofText = (text: string) => sha256Hex(text);

/** Paths with what can be seen of them from outside, without `.git/index`, which git itself rewrites. */
const listing = (root: string, below = ''): string[] =>
  readdirSync(Buffer.from(`${root}/${below}`, 'latin1'), { encoding: 'latin1' })
    .map((name) => (below === '' ? name : `${below}/${name}`))
    .filter((path) => path !== '.git/index')
    .flatMap((path) => {
      const place = Buffer.from(`${root}/${path}`, 'latin1');
      const stats = lstatSync(place);
      const mode = (stats.mode & 0o777).toString(8);
      if (stats.isSymbolicLink()) return `${path} -> ${readlinkSync(place)}`;
      if (stats.isDirectory()) return [`${path}/ ${mode}`, ...listing(root, path)];
      return `${path} ${mode} ${lstatSync(place, { bigint: true }).mtimeNs / 1_000_000n} ${ofText(readFileSync(place, 'latin1'))}`;
    })
    .sort();

describe('a store that fails', () => {
  it('is away before the effect: unavailable, and nothing happened', async () => {
    const ref = await pair.one.prepare();
    pair.artifacts.away = true;
    const stop = new AbortController();
    const outcome = pair.one.write(ref, 'a', 'a\n', 'absent', '', { signal: stop.signal });
    setTimeout(() => stop.abort(new FabricError('expired', 'the deadline passed')), 300);
    expect(await errorType(outcome)).toBe('expired');
    pair.artifacts.away = false;
    expect(await errorType(pair.one.read(ref, 'a'))).toBe('file_not_found');
  });

  it('RE-3: goes away during the effect: what was written is thrown away, and the answer says so', async () => {
    const ref = await pair.one.prepare();
    const stop = new AbortController();
    const beginEffect = async () => {
      pair.artifacts.away = true;
      setTimeout(() => stop.abort(new FabricError('expired', 'the deadline passed')), 500);
    };
    const outcome = await pair.one.write(ref, 'a', 'a\n', 'absent', '', { beginEffect, signal: stop.signal });
    expect(outcome).toMatchObject({ status: 'error', sideEffect: 'none', error: { type: 'expired' } });
    pair.artifacts.away = false;
    expect(await errorType(pair.one.read(ref, 'a'))).toBe('file_not_found');
    expect(await errorType(pair.two.read(ref, 'a'))).toBe('file_not_found');
  });

  it('comes back in time: the effect is kept', async () => {
    const ref = await pair.one.prepare();
    const beginEffect = async () => {
      pair.artifacts.away = true;
      setTimeout(() => {
        pair.artifacts.away = false;
      }, 400);
    };
    expect((await pair.one.write(ref, 'a', 'a\n', 'absent', '', { beginEffect })).status).toBe('ok');
    expect(await pair.two.read(ref, 'a')).toBe('a\n');
  });

  const damage = (ref: KeptRef, how: (id: string, bytes: Buffer) => void) => {
    const id = pair.artifacts.heads.get(ref.id)?.head.manifest ?? '';
    how(id, pair.artifacts.bytes.get(id) as Buffer);
  };

  it.each<[string, (id: string, bytes: Buffer) => void]>([
    ['deleted', (id) => void pair.artifacts.bytes.delete(id)],
    ['cut short', (id, bytes) => void pair.artifacts.bytes.set(id, bytes.subarray(0, bytes.length - 1))],
    ['cut in its list', (id, bytes) => void pair.artifacts.bytes.set(id, bytes.subarray(0, 150))],
    [
      'changed in a file',
      (id, bytes) => void pair.artifacts.bytes.set(id, Buffer.from(bytes).fill(0x21, bytes.length - 1)),
    ],
    ['changed in its list', (id, bytes) => void pair.artifacts.bytes.set(id, Buffer.from(bytes).fill(0x21, 200, 201))],
    ['emptied', (id) => void pair.artifacts.bytes.set(id, Buffer.alloc(0))],
  ])('RT-10: a snapshot that was %s is workspace_lost, and the old copy is left as it is', async (_how, change) => {
    const ref = await pair.one.prepare();
    await pair.one.write(ref, 'a', 'a\n');
    await pair.two.read(ref, 'a');
    await pair.one.write(ref, 'b', 'b\n');
    damage(ref, change);
    const before = listing(pair.two.rootOf(ref));
    expect(await errorType(pair.two.read(ref, 'a'))).toBe('workspace_lost');
    expect(await errorType(pair.two.write(ref, 'c', 'c\n'))).toBe('workspace_lost');
    expect(listing(pair.two.rootOf(ref))).toEqual(before);
    expect(readdirSync(pair.two.settings.layout.staging)).toEqual([]);
  });

  it('a call without leave is refused, and may be tried again', async () => {
    const ref = await pair.one.prepare();
    const tool = pair.one.driver.inWorkspace({ ...pair.one.context(ref), artifacts: undefined }, async () => 'read');
    await expect(tool).rejects.toMatchObject({ type: 'unavailable' });
  });
});

describe('a copy that cannot be trusted', () => {
  it('a worker that died while it wrote finds its copy unclean, and restores it', async () => {
    const ref = await pair.one.prepare();
    await pair.one.write(ref, 'a', 'a\n');
    const held = Promise.withResolvers<void>();
    // As after a kill: the effect began, the tree changed, and nobody goes on.
    const beginEffect = async () => {
      writeFileSync(join(pair.one.rootOf(ref), 'half'), 'half');
      await held.promise;
    };
    const dead = pair.one.write(ref, 'b', 'b\n', 'absent', '', { beginEffect });
    await waitUntil(() => readdirSync(pair.one.rootOf(ref)).includes('half'));
    execFileSync('rm', ['-rf', join(pair.one.settings.layout.locks, `tree-${ref.id}`)]);
    const again = await pair.again('one');
    expect(await again.read(ref, 'a')).toBe('a\n');
    expect(readdirSync(again.rootOf(ref)).sort()).toEqual(['a']);
    held.reject(new FabricError('cancelled', 'over'));
    expect(await errorType(dead)).toBe('cancelled');
    await again.driver.close();
  });

  it('one that is missing, or whose directory was put there by somebody else, is restored', async () => {
    const ref = await pair.one.prepare();
    await pair.one.write(ref, 'a', 'a\n');
    execFileSync('rm', ['-rf', pair.one.rootOf(ref)]);
    expect(await pair.one.write(ref, 'b', 'b\n')).toMatchObject({ status: 'ok' });
    expect(await pair.one.read(ref, 'a')).toBe('a\n');
  });

  it('a workspace that was never prepared is missing everywhere', async () => {
    const ref: KeptRef = { id: 't-00000000000000000000000000', source: { type: 'empty' } };
    expect(await errorType(pair.one.read(ref, 'a'))).toBe('workspace_missing');
    expect(await errorType(pair.one.write(ref, 'a', 'a\n'))).toBe('workspace_missing');
  });

  it('a copy that nobody used for a day goes, and comes back when it is needed', async () => {
    const ref = await pair.one.prepare();
    await pair.one.write(ref, 'a', 'a\n');
    await pair.one.driver.sweep();
    expect(readdirSync(pair.one.settings.layout.workspaces)).toEqual([ref.id]);
    const old = Date.now() / 1000 - 90_000;
    utimesSync(join(pair.one.settings.layout.copies, `${ref.id}.json`), old, old);
    await pair.one.driver.sweep();
    expect(readdirSync(pair.one.settings.layout.workspaces)).toEqual([]);
    expect(readdirSync(pair.one.settings.layout.users)).toEqual([]);
    expect(await pair.one.read(ref, 'a')).toBe('a\n');
  });
});

describe('preparing', () => {
  it('protocol 12: stores the first snapshot before it is ready, and finds it again elsewhere', async () => {
    const ref = await pair.one.prepare();
    expect(pair.artifacts.heads.get(ref.id)?.head).toMatchObject({ generation: 1 });
    await pair.one.write(ref, 'a', 'a\n');
    await pair.two.prepare(ref.source, ref.id);
    expect(await pair.two.read(ref, 'a')).toBe('a\n');
    expect(pair.artifacts.heads.get(ref.id)?.head).toMatchObject({ generation: 2 });
  });

  it('of one workspace by two workers at once ends in one state', async () => {
    const source = join(pair.root, 'repo');
    await makeRepository(source, { 'a.ts': 'export {};\n' });
    const id = 't-0123456789abcdefghjkmnpqrs';
    const clone = { type: 'clone', path: source } as const;
    await Promise.all([pair.one.prepare(clone, id), pair.two.prepare(clone, id)]);
    const ref = { id, source: clone };
    await Promise.all([pair.one.read(ref, 'a.ts'), pair.two.read(ref, 'a.ts')]);
    expect(listing(pair.one.rootOf(ref))).toEqual(listing(pair.two.rootOf(ref)));
  });

  it('a workspace over its bounds is refused, and so is one with what is no file', async () => {
    await pair.close();
    pair = await KeptPair.open({ snapshots: { entries: 5, bytes: 10_000 } });
    const ref = await pair.one.prepare();
    const refused = await pair.one.write(ref, 'big', 'x'.repeat(10_001));
    expect(refused).toMatchObject({ status: 'error', sideEffect: 'none', error: { type: 'workspace_full' } });
    expect(await errorType(pair.one.read(ref, 'big'))).toBe('file_not_found');
    const many = await pair.one.write(ref, 'a/b/c/d/e/f', 'x\n');
    expect(many.error?.type).toBe('workspace_full');
    expect((await pair.one.write(ref, 'ok', 'x\n')).status).toBe('ok');
    const beginEffect = async () => {
      execFileSync('mkfifo', [join(pair.one.rootOf(ref), 'pipe')]);
    };
    const special = await pair.one.write(ref, 'ok2', 'x\n', 'absent', '', { beginEffect });
    expect(special).toMatchObject({ status: 'error', sideEffect: 'none', error: { type: 'workspace_refused' } });
    expect(readdirSync(pair.one.rootOf(ref)).length).toBeGreaterThan(0);
    expect(await pair.one.read(ref, 'ok')).toBe('x\n');
    expect(readdirSync(pair.one.rootOf(ref))).toEqual(['ok']);
  });
});
