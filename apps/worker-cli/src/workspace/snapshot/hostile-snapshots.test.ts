import { existsSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { FabricError, sha256Hex } from '@toolfabric/kernel';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { errorType } from '../../testing/driver-fixture.ts';
import { KeptPair, type KeptRef } from '../../testing/kept-pair.ts';
import { isPlainPath } from './check-entries.ts';
import { encodeList, type Line } from './encode-list.ts';
import { INLINE, type ManifestHeader } from './manifest.ts';
import { scanTree } from './scan-tree.ts';
import { SNAPSHOT_LIMITS } from './snapshot-limits.ts';

let pair: KeptPair;
beforeAll(async () => {
  pair = await KeptPair.open({ snapshots: { entries: 2_000, bytes: 1_000_000 } });
});
afterAll(() => pair.close());

const CONTENT = 'content\n';
const file = (path: string, changes: object = {}): Line => ({
  type: 'file',
  path,
  mode: 0o644,
  mtime: 1_700_000_000_000,
  size: CONTENT.length,
  sha256: sha256Hex(CONTENT),
  pack: INLINE,
  offset: 0,
  ...changes,
});
const directory = (path: string): Line => ({ type: 'directory', path, mode: 0o755 });
const link = (path: string, target: string): Line => ({ type: 'link', path, target });

/** Makes what somebody wrote by hand the newest snapshot of the workspace. */
const put = async (ref: KeptRef, lines: readonly Line[], changes: Partial<ManifestHeader> = {}, content = CONTENT) => {
  const header: ManifestHeader = {
    workspace: ref.id,
    generation: 2,
    callId: 'c',
    epoch: 1,
    packs: [],
    inline: content.length,
    history: [],
    ...changes,
  };
  const session = pair.artifacts.session(ref.id, `2969-${Math.random()}`);
  const { bytes, sha256 } = encodeList(header, lines);
  async function* body() {
    yield Buffer.concat([bytes, Buffer.from(content)]);
  }
  const name = { name: `snapshot-${sha256}`, mediaType: 'x', trust: 'untrusted' } as const;
  const { id } = await session.put(name, body(), new AbortController().signal);
  const { generation } = await session.head(new AbortController().signal);
  await session.moveHead(generation, id, new AbortController().signal);
  return { id, sha256 };
};

const prepared = async (): Promise<KeptRef> => {
  const ref = await pair.one.prepare();
  await pair.one.write(ref, 'before', 'before\n');
  await pair.two.read(ref, 'before');
  return ref;
};

describe('a snapshot that somebody else wrote', () => {
  it('is restored when it is a good one', async () => {
    const ref = await prepared();
    await put(ref, [directory('d'), file('d/a'), file('d/b'), link('d/l', '../../../../etc/passwd')]);
    expect(await pair.two.read(ref, 'd/a')).toBe(CONTENT);
    expect(await pair.two.read(ref, 'd/b')).toBe(CONTENT);
    expect(await errorType(pair.two.read(ref, 'd/l'))).toBe('path_outside_workspace');
  });

  it.each<[string, Line[], Partial<ManifestHeader>?, string?]>([
    ['a path upwards', [file('../escape')]],
    ['a path upwards inside', [directory('a'), file('a/../../escape')]],
    ['an absolute path', [file('/tmp/escape')]],
    ['an empty path', [file('')]],
    ['an empty part', [directory('a'), file('a//b')]],
    ['a dot', [directory('a'), file('a/./b')]],
    ['a NUL', [file('a\0b')]],
    ['a character beyond a byte', [file('\u0100')]],
    ['a name that is too long', [file('x'.repeat(256))]],
    ['no directory above it', [file('a/b')]],
    ['a link above it', [link('a', '/tmp'), file('a/escape')]],
    ['a file above it', [file('a'), file('a/b')]],
    ['a directory below itself twice', [directory('a'), directory('a')]],
    ['the same path twice', [file('a'), file('a')]],
    ['a link and a file of one name', [link('a', '/tmp'), file('a')]],
    ['a link to nothing', [link('a', '')]],
    ['a link with a NUL', [link('a', 'x\0y')]],
    ['a removed path in a whole list', [{ type: 'removed', path: 'a' }]],
    ['a file beyond its pack', [file('a', { offset: 1 })]],
    ['a file in a pack that is not there', [file('a', { pack: 7 })]],
    ['another digest', [file('a', { sha256: sha256Hex('other') })]],
    ['content that is shorter than it says', [file('a')], { inline: CONTENT.length }, 'cont'],
    ['contents that lie in each other', [file('a'), file('b', { size: 3, offset: 1, sha256: sha256Hex('ont') })]],
    ['too many entries', Array.from({ length: 2_001 }, (_, n) => directory(`d${n}`))],
    [
      'too many bytes',
      Array.from({ length: 2 }, (_, n) => file(`f${n}`, { size: 600_000, offset: 0 })),
      { inline: 600_000 },
    ],
    ['too many directories inside each other', [directory(Array.from({ length: 201 }, () => 'd').join('/'))]],
    ['another workspace', [file('a')], { workspace: 't-other' }],
    ['a base that is not there', [file('a')], { base: { id: `a-${'0'.repeat(26)}`, sha256: sha256Hex('x') } }],
    [
      'a pack that is not there',
      [file('a', { pack: 0 })],
      { packs: [{ id: `a-${'0'.repeat(26)}`, start: 0, size: 8 }] },
    ],
  ])(
    'RT-10: with %s is workspace_lost; nothing of it is on the disk, and the old copy stands',
    async (_what, lines, changes, content) => {
      const ref = await prepared();
      await put(ref, lines, changes ?? {}, content ?? CONTENT);
      expect(await errorType(pair.two.read(ref, 'before'))).toBe('workspace_lost');
      expect(readFileSync(join(pair.two.rootOf(ref), 'before'), 'utf8')).toBe('before\n');
      expect(readdirSync(pair.two.settings.layout.staging)).toEqual([]);
      expect(existsSync('/tmp/escape')).toBe(false);
    },
  );

  it('differences that build on differences, or on another list than they say, are workspace_lost', async () => {
    const ref = await prepared();
    const whole = await put(ref, [file('a')]);
    const { id: wrong } = await put(ref, [file('b')], { base: { id: whole.id, sha256: sha256Hex('x') } });
    expect(await errorType(pair.two.read(ref, 'a'))).toBe('workspace_lost');
    const second = await put(ref, [file('b')], { base: whole });
    expect(await pair.two.read(ref, 'a')).toBe(CONTENT);
    expect(await pair.two.read(ref, 'b')).toBe(CONTENT);
    await put(ref, [file('c')], { base: second });
    expect(await errorType(pair.two.read(ref, 'a'))).toBe('workspace_lost');
    expect(wrong).not.toBe(second.id);
  });

  it('bytes that are no list, or say that they are longer than any list, are workspace_lost', async () => {
    const ref = await prepared();
    const head = pair.artifacts.heads.get(ref.id)?.head.manifest ?? '';
    for (const bytes of [
      'x'.repeat(4_096),
      `toolfabric-snapshot/1 ${'9'.repeat(12)} ${'9'.repeat(12)} ${'0'.repeat(64)}\n`,
      `toolfabric-snapshot/1 ${'0'.repeat(12)} ${'0'.repeat(12)} ${sha256Hex('')}\n`,
      `toolfabric-snapshot/2 ${'0'.repeat(12)} ${'0'.repeat(12)} ${sha256Hex('')}\n`,
    ]) {
      pair.artifacts.bytes.set(head, Buffer.from(bytes));
      const again = await pair.again('two');
      writeFileSync(join(pair.two.settings.layout.copies, `${ref.id}.json`), '{}');
      expect(await errorType(again.read(ref, 'before'))).toBe('workspace_lost');
      await again.driver.close();
    }
  });

  it.each([['a/b'], ['a'], ['.git/HEAD'], ['...'], ['\xff'], [' ']])('%j is a plain path', (path) => {
    expect(isPlainPath(path)).toBe(true);
  });
});

describe('a tree that is looked at', () => {
  const scan = (root: string) => scanTree(root, SNAPSHOT_LIMITS, new Map(), new AbortController().signal);

  it('no link is followed, neither to a file nor to a directory', async () => {
    const root = join(pair.base, 'scan');
    const outside = join(pair.base, 'outside');
    mkdirSync(root);
    mkdirSync(outside);
    writeFileSync(join(outside, 'secret'), 'secret');
    symlinkSync(outside, join(root, 'directory'));
    symlinkSync(join(outside, 'secret'), join(root, 'file'));
    symlinkSync('.', join(root, 'loop'));
    const { found } = await scan(root);
    expect([...found.values()].map(({ type, path }) => `${type} ${path}`).sort()).toEqual([
      'link directory',
      'link file',
      'link loop',
    ]);
  });

  it('is looked at no further once its call was stopped', async () => {
    const root = join(pair.base, 'stopped');
    mkdirSync(root);
    for (let n = 0; n < 3_000; n += 1) writeFileSync(join(root, `f${n}`), `${n}`.repeat(2_000));
    const stop = new AbortController();
    setTimeout(() => stop.abort(new FabricError('cancelled', 'stopped')), 1);
    await expect(scanTree(root, SNAPSHOT_LIMITS, new Map(), stop.signal)).rejects.toMatchObject({ type: 'cancelled' });
  });

  it('a file that changes is seen, however quickly and with the same size', async () => {
    const root = join(pair.base, 'quick');
    mkdirSync(root);
    let cache = new Map();
    for (let n = 0; n < 50; n += 1) {
      writeFileSync(join(root, 'f'), `content ${String(n).padStart(3, '0')}`);
      const seen = await scanTree(root, SNAPSHOT_LIMITS, cache, new AbortController().signal);
      cache = seen.cache;
      expect(seen.found.get('f')).toMatchObject({ sha256: sha256Hex(`content ${String(n).padStart(3, '0')}`) });
    }
  });
});
