import { execFileSync } from 'node:child_process';
import {
  chmodSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { sha256Hex } from '@toolfabric/kernel';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { errorType } from '../../testing/driver-fixture.ts';
import { makeRepository } from '../../testing/git-repository.ts';
import { KeptPair } from '../../testing/kept-pair.ts';
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

describe('a workspace on two workers', () => {
  it('RT-10: an edit on one is read on the other, and the other way round', async () => {
    const ref = await pair.one.prepare();
    expect((await pair.one.write(ref, 'a.txt', 'one\n')).status).toBe('ok');
    expect(await pair.two.read(ref, 'a.txt')).toBe('one\n');
    const edit = await pair.two.write(ref, 'a.txt', 'two\n', ofText('one\n'), 'one\n');
    expect(edit).toMatchObject({ status: 'ok', sideEffect: 'confirmed' });
    expect(await pair.one.read(ref, 'a.txt')).toBe('two\n');
  });

  it('RT-10: the repository of a clone comes along whole: history, modes, links, empty directories, times', async () => {
    const source = join(pair.root, 'repo');
    await makeRepository(source, { 'src/a.ts': 'export {};\n', 'run.sh': '#!/bin/sh\n' });
    const ref = await pair.one.prepare({ type: 'clone', path: source });
    const root = pair.one.rootOf(ref);
    chmodSync(join(root, 'run.sh'), 0o755);
    mkdirSync(join(root, 'empty/deep'), { recursive: true });
    chmodSync(join(root, 'empty'), 0o750);
    symlinkSync('../src/a.ts', join(root, 'empty/up'));
    symlinkSync('/etc/passwd', join(root, 'absolute'));
    symlinkSync('nowhere', join(root, 'dangling'));
    writeFileSync(Buffer.concat([Buffer.from(`${root}/`), Buffer.from([0x66, 0xe9, 0xff])]), 'a name that is no UTF-8');
    writeFileSync(join(root, 'none'), '');
    utimesSync(join(root, 'src/a.ts'), 1_700_000_000.123, 1_700_000_000.123);
    await pair.one.write(ref, 'marker', 'x\n');
    expect(await pair.two.read(ref, 'marker')).toBe('x\n');
    expect(listing(pair.two.rootOf(ref))).toEqual(listing(root));
    const log = (at: string) =>
      execFileSync('git', ['-c', 'safe.directory=*', '-C', at, 'log', '--format=%H']).toString();
    expect(log(pair.two.rootOf(ref))).toBe(log(root));
    if (process.getuid?.() !== 0) return;
    const owners = new Set(
      ['run.sh', 'empty', 'marker', 'absolute', 'src/a.ts', '.git/HEAD'].map(
        (name) => lstatSync(join(pair.two.rootOf(ref), name)).uid,
      ),
    );
    expect([...owners]).toEqual([statSync(pair.two.rootOf(ref)).uid]);
    expect([...owners][0]).toBeGreaterThanOrEqual(40_000);
  });

  it('only what changed is stored, and a copy that is the newest is not asked for again', async () => {
    const ref = await pair.one.prepare();
    const big = 'x'.repeat(300_000);
    await pair.one.write(ref, 'big.txt', big);
    const before = pair.artifacts.putBytes;
    await pair.one.write(ref, 'small.txt', 'y\n');
    expect(pair.artifacts.putBytes - before).toBeLessThan(5_000);
    await pair.two.read(ref, 'big.txt');
    const stamp = statSync(pair.two.rootOf(ref)).ino;
    await pair.two.read(ref, 'small.txt');
    expect(statSync(pair.two.rootOf(ref)).ino).toBe(stamp);
  });

  it('RT-10: edits of two workers at once lose none: one of them hears that the workspace moved', async () => {
    const ref = await pair.one.prepare();
    await pair.one.write(ref, 'seed', 's\n');
    await pair.two.read(ref, 'seed');
    const kept: string[] = [];
    const endings = new Set<string>();
    for (let round = 0; round < 6; round += 1) {
      await Promise.all(
        [pair.one, pair.two].map(async (worker, index) => {
          for (let tries = 0; tries < 12; tries += 1) {
            const path = `f-${index}-${round}`;
            const outcome = await worker.write(ref, path, `${path}\n`);
            endings.add(outcome.status === 'ok' ? 'ok' : (outcome.error?.type ?? ''));
            if (outcome.status !== 'ok') continue;
            kept.push(path);
            return;
          }
        }),
      );
    }
    expect([...endings].filter((end) => end !== 'ok' && end !== 'workspace_moved')).toEqual([]);
    expect(kept.length).toBe(12);
    for (const path of kept) {
      expect(await pair.one.read(ref, path)).toBe(`${path}\n`);
      expect(await pair.two.read(ref, path)).toBe(`${path}\n`);
    }
  });

  it('what is removed stays removed, and a directory that became a file is one', async () => {
    const ref = await pair.one.prepare();
    await pair.one.write(ref, 'dir/a', 'a\n');
    await pair.two.read(ref, 'dir/a');
    const root = pair.one.rootOf(ref);
    execFileSync('rm', ['-r', join(root, 'dir')]);
    writeFileSync(join(root, 'dir'), 'now a file');
    await pair.one.write(ref, 'b', 'b\n');
    await pair.two.read(ref, 'b');
    expect(readFileSync(join(pair.two.rootOf(ref), 'dir'), 'utf8')).toBe('now a file');
    expect(listing(pair.two.rootOf(ref))).toEqual(listing(root));
  });

  it('many snapshots stay small and whole: lists and packs are put together', async () => {
    const ref = await pair.one.prepare();
    let text = '';
    for (let n = 0; n < 40; n += 1) {
      const before = text;
      text += `${n}\n`;
      const outcome = await pair.one.write(ref, 'log', text, before === '' ? 'absent' : ofText(before), before);
      expect(outcome.status).toBe('ok');
      await pair.one.write(ref, `f${n}`, `${n}\n`);
    }
    expect(await pair.two.read(ref, 'log')).toBe(text);
    expect(listing(pair.two.rootOf(ref))).toEqual(listing(pair.one.rootOf(ref)));
    const lists = [...pair.artifacts.bytes.values()].map(({ length }) => length);
    expect(Math.max(...lists)).toBeLessThan(80_000);
  }, 60_000);
});

describe('the fence of a workspace', () => {
  it('protocol 7: a worker that was overtaken keeps nothing, says so, and sees the newest state afterwards', async () => {
    const ref = await pair.one.prepare();
    await pair.one.write(ref, 'a', 'a\n');
    await pair.two.read(ref, 'a');
    let overtaken = false;
    pair.artifacts.beforeMove = async () => {
      if (overtaken) return;
      overtaken = true;
      expect((await pair.two.write(ref, 'b', 'b\n')).status).toBe('ok');
    };
    const outcome = await pair.one.write(ref, 'c', 'c\n');
    expect(outcome).toMatchObject({
      status: 'error',
      sideEffect: 'none',
      error: { type: 'workspace_moved', retryable: true },
    });
    expect(await pair.one.read(ref, 'b')).toBe('b\n');
    expect(await errorType(pair.one.read(ref, 'c'))).toBe('file_not_found');
    expect((await pair.one.write(ref, 'c', 'c\n')).status).toBe('ok');
  });

  it('protocol 7: a probe on any worker raises the generation before it says that nothing happened', async () => {
    const ref = await pair.one.prepare();
    await pair.one.write(ref, 'a', 'a\n');
    const callId = `2969-${'0'.repeat(26)}`;
    const args = { path: 'late', old_text: '', new_text: 'late\n', expected_sha256: 'absent' };
    let intent: unknown;
    let asked: unknown;
    pair.artifacts.beforeMove = async () => {
      if (asked !== undefined) return;
      asked = 'soon';
      asked = await pair.two.probe(ref, 'workspace.edit_file', callId, args, intent as never);
    };
    const beginEffect = async (what: unknown) => {
      intent = what;
    };
    const late = await pair.one.call(ref, 'workspace.edit_file', args, { callId, beginEffect });
    expect(asked).toEqual({ answer: 'absent', fence: true });
    expect(late.error?.type).toBe('workspace_moved');
    expect(await errorType(pair.two.read(ref, 'late'))).toBe('file_not_found');
  });

  it('protocol 7: a probe finds what was kept, with the receipt, also after others have written', async () => {
    const ref = await pair.one.prepare();
    const callId = `2969-${'1'.repeat(26)}`;
    const args = { path: 'a', old_text: '', new_text: 'a\n', expected_sha256: 'absent' };
    let intent: unknown;
    const beginEffect = async (what: unknown) => {
      intent = what;
    };
    const outcome = await pair.one.call(ref, 'workspace.edit_file', args, { callId, beginEffect });
    await pair.two.write(ref, 'b', 'b\n');
    const found = await pair.two.probe(ref, 'workspace.edit_file', callId, args, intent as never);
    expect(found).toEqual({ answer: 'found', receipt: outcome });
    for (let n = 0; n < 40; n += 1) await pair.two.write(ref, `n${n}`, 'n\n');
    // Too long ago to be remembered: not known is said, never "nothing happened".
    const later = await pair.one.probe(ref, 'workspace.edit_file', callId, args, intent as never);
    expect(later.answer).toBe('not_visible');
  });

  it('protocol 12: a lost answer to the move of the head is no lost write', async () => {
    const ref = await pair.one.prepare();
    pair.artifacts.mute = 1;
    expect((await pair.one.write(ref, 'a', 'a\n')).status).toBe('ok');
    let first = true;
    pair.artifacts.beforeMove = async () => {
      if (!first) return;
      first = false;
      // The answer of the next move is lost, and somebody writes on before it is asked for again.
      pair.artifacts.mute = 1;
      setTimeout(() => void pair.two.write(ref, 'c', 'c\n'), 60);
    };
    expect((await pair.one.write(ref, 'b', 'b\n')).status).toBe('ok');
    await waitUntil(async () => (await errorType(pair.two.read(ref, 'c'))) === 'none');
    expect(await pair.two.read(ref, 'b')).toBe('b\n');
  });

  it('an outcome that nobody could read again does no harm to the snapshot, and leaves no receipt', async () => {
    const ref = await pair.one.prepare();
    const ctx = pair.one.context(ref);
    const outcome = await pair.one.driver.changing(ctx, async (workspace, _lock, inner) => {
      await inner.beginEffect({});
      writeFileSync(join(workspace.root.path, 'a'), 'a\n');
      return { status: 'ok', summary: 'x'.repeat(100_000), sideEffect: 'confirmed', trust: 'trusted' };
    });
    expect(outcome.status).toBe('ok');
    expect(await pair.two.read(ref, 'a')).toBe('a\n');
    const probed = await pair.two.probe(ref, 'workspace.edit_file', ctx.callId, {
      path: 'a',
      old_text: '',
      new_text: 'a',
      expected_sha256: 'absent',
    });
    expect(probed.answer).toBe('not_visible');
  });

  it('a receipt holds no secret that the outcome would not hold', async () => {
    const ref = await pair.one.prepare();
    const redactor = {
      ...pair.one.context(ref).redactor,
      json: <T>(value: T) => JSON.parse(JSON.stringify(value).replaceAll('canary', '[redacted]')) as T,
    };
    const ctx = { ...pair.one.context(ref), redactor };
    await pair.one.driver.changing(ctx, async (workspace, _lock, inner) => {
      await inner.beginEffect({});
      writeFileSync(join(workspace.root.path, 'a'), 'a\n');
      return { status: 'ok', summary: 'saw canary', sideEffect: 'confirmed', trust: 'trusted' };
    });
    expect([...pair.artifacts.bytes.values()].some((bytes) => bytes.includes('canary'))).toBe(false);
    expect([...pair.artifacts.bytes.values()].some((bytes) => bytes.includes('saw [redacted]'))).toBe(true);
  });

  it('a rerun raises the generation first, so that the epoch before it is kept no more', async () => {
    const ref = await pair.one.prepare();
    const generation = () => pair.artifacts.heads.get(ref.id)?.head.generation ?? 0;
    const before = generation();
    await pair.two.write(ref, 'a', 'a\n', 'absent', '', { epoch: 2 });
    expect(generation()).toBe(before + 2);
  });
});
