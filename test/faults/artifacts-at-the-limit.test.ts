import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { createArtifactFront, createArtifactStore } from '@toolfabric/artifact-http';
import { type ArtifactPermit, PERMIT_TYPE } from '@toolfabric/contract';
import { createSigner, FabricError } from '@toolfabric/kernel';
import { startNats, type TestNats } from '@toolfabric/testkit';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { blocks, chunksOf, named, textOf } from '../artifacts/support.ts';
import { ADA } from '../support/cluster.ts';

const MAIN = fileURLToPath(new URL('../../apps/artifacts/src/main.ts', import.meta.url));
const signal = AbortSignal.timeout(120_000);

let nats: TestNats;
let folder: string;
let child: ChildProcess | undefined;
beforeAll(async () => {
  nats = await startNats({ kinds: ['cli'] });
  folder = mkdtempSync(join(tmpdir(), 'toolfabric-limit-'));
  mkdirSync(join(folder, 'store'));
  writeFileSync(join(folder, 'seed'), nats.seeds['artifacts'] ?? '', { mode: 0o600 });
  writeFileSync(join(folder, 'bus-keys'), JSON.stringify(nats.busKeys), { mode: 0o600 });
  writeFileSync(join(folder, 'keys'), JSON.stringify(nats.signing.publicKeys));
});
afterEach(async () => {
  if (child?.exitCode !== null || !child.pid) return;
  const ended = once(child, 'close');
  child.kill('SIGKILL');
  await ended;
});
afterAll(async () => {
  await nats?.stop();
  rmSync(folder, { recursive: true, force: true });
});

/** The service behind a command that limits it; resolves with its URL. */
const serve = async (program: string, args: readonly string[]): Promise<string> => {
  child = spawn('setpriv', ['--pdeathsig', 'KILL', '--', program, ...args, process.execPath, MAIN], {
    stdio: ['ignore', 'ignore', 'pipe'],
    env: {
      PATH: '/usr/local/bin:/usr/bin:/bin',
      TOOLFABRIC_NATS_URL: nats.url,
      TOOLFABRIC_NKEY_SEED_FILE: join(folder, 'seed'),
      TOOLFABRIC_BUS_KEYS_FILE: join(folder, 'bus-keys'),
      TOOLFABRIC_PUBLIC_KEYS_FILE: join(folder, 'keys'),
      TOOLFABRIC_ARTIFACTS_DIR: join(folder, 'store'),
      TOOLFABRIC_ARTIFACTS_PORT: '0',
      TOOLFABRIC_PACE: 'test',
    },
  });
  for await (const line of createInterface({ input: child.stderr as NodeJS.ReadableStream })) {
    const record = line.startsWith('{') ? JSON.parse(line) : {};
    if (record.event === 'ready') return `http://${record.address}`;
    if (record.event === 'start_failed') throw new Error(line);
  }
  throw new Error('it did not start');
};

const signed = (permit: ArtifactPermit) =>
  createSigner(nats.signing.kid, nats.signing.privateKey).sign(PERMIT_TYPE, JSON.stringify(permit));
const expires = () => Date.now() + 120_000;
const sessionOf = (url: string, callId: string) =>
  createArtifactStore({ url }).session(
    signed({
      action: 'call',
      actor: ADA,
      taskId: 't',
      callId,
      epoch: 1,
      maxBytes: 1024 ** 3,
      retentionDays: 1,
      expires: expires(),
    }),
  );
const typeOf = async (work: Promise<unknown>): Promise<string> => {
  try {
    await work;
    return 'ok';
  } catch (thrown) {
    return thrown instanceof FabricError ? thrown.type : (thrown as Error).name;
  }
};
/** Its own PID namespace ends everything in it together with `bwrap`. */
const OWN = ['--die-with-parent', '--unshare-pid', '--proc', '/proc'];
const DISK = ['--bind', '/', '/', '--dev-bind', '/dev', '/dev', ...OWN, '--size', String(16 * 1024 * 1024), '--tmpfs'];

describe('an artifact store at the limit of its machine', () => {
  it('with a full disk: what does not fit is refused for now, what is there is read, room that was made is used', async () => {
    const url = await serve('bwrap', [...DISK, join(folder, 'store'), '--']);
    const session = sessionOf(url, '2969-full');
    const front = createArtifactFront({ url });
    const small = await session.put(named('small'), blocks(100, 'small'), signal);
    expect(await typeOf(session.put(named('large'), blocks(400, 'large'), signal))).toBe('overloaded');
    expect((await textOf(session.read(small.id, undefined, signal))).length).toBe(small.size);
    const log = await session.openLog(named('log'), signal);
    await log.append(Buffer.from('a log still has room'));
    expect(await log.close()).toMatchObject({ size: 20 });
    const manage = signed({ action: 'manage', actor: ADA, artifactId: small.id, expires: expires() });
    await front.manage(manage, small.id, { type: 'delete' }, signal);
    expect((await session.put(named('next'), blocks(200, 'next'), signal)).size).toBe(200 * 64 * 1024);
  });

  it('with a largest size of files: too_large, and the process lives', async () => {
    const url = await serve('prlimit', ['--fsize=4194304', '--']);
    const session = sessionOf(url, '2969-fsize');
    expect(await typeOf(session.put(named('large'), blocks(100, 'fsize'), signal))).toBe('too_large');
    expect((await session.put(named('fits'), blocks(10, 'fsize'), signal)).size).toBe(10 * 64 * 1024);
  });

  it('with few open files: the rest is refused for now, and nothing is half stored', async () => {
    const url = await serve('prlimit', ['--nofile=64', '--']);
    const puts = Array.from({ length: 60 }, (_, n) =>
      typeOf(sessionOf(url, `2969-files${n}`).put(named('x'), blocks(20, `files${n}`), signal)),
    );
    const ends = new Set(await Promise.all(puts));
    expect([...ends].every((end) => ['ok', 'overloaded', 'StoreUnavailable'].includes(end))).toBe(true);
    // Files are closed a moment after the last answer.
    const later = sessionOf(url, '2969-later');
    await expect.poll(() => typeOf(later.put(named('x'), chunksOf('later'), signal)), { timeout: 20_000 }).toBe('ok');
  });
});
