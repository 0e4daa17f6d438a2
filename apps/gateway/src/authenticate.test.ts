import { appendFileSync, rmSync, writeFileSync } from 'node:fs';
import { status } from '@grpc/grpc-js';
import { connectFabric, type FabricClient } from '@toolfabric/client';
import { createLogger } from '@toolfabric/kernel';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { ALICE, BOB, type OpenGateway, type OpenOptions, openGateway } from './testing/open-gateway.ts';
import { rawTools } from './testing/raw-tools.ts';
import { ScriptedRouter } from './testing/scripted-router.ts';
import { until } from './testing/until.ts';
import { issueToken, TokenBook, TokensFile } from './tokens.ts';

const TASK = 't-00000000000000000000000000';
const UNAUTHENTICATED = { code: status.UNAUTHENTICATED, error: { type: 'unauthenticated', retryable: false } };

let router: ScriptedRouter;
let open: OpenGateway<FabricClient>;
let log: string;
const reopen = async (options: OpenOptions = {}) => {
  await open?.close();
  router = new ScriptedRouter();
  log = '';
  const logger = createLogger('gateway', (line) => {
    log += line;
  });
  open = await openGateway(connectFabric, router.ports(), { logger, ...options });
};
beforeEach(() => reopen());
afterEach(() => open.close());

/** Whether a token is let through, asked on a fresh connection. */
const failure = async (token: string | undefined) => {
  const raw = rawTools(open.gateway.address, token);
  try {
    return await raw.fails(() => raw.call({ taskId: TASK, tool: 'a.b', waitMs: 0 }));
  } finally {
    raw.close();
  }
};
const isAccepted = async (token: string) =>
  open
    .connect(token)
    .startCall({ taskId: TASK, tool: 'a.b', args: {} })
    .then(
      () => true,
      () => false,
    );

describe('no token, no call', () => {
  it.each([
    ['none', undefined],
    ['an empty one', ''],
    ['an unknown one', issueToken({ id: 'x', ...ALICE }).token],
    ['one with a blank inside', 'tf_ab cd'],
    ['a very long one', 'x'.repeat(2_000)],
  ])('refuses %s', async (_what, token) => {
    expect(await failure(token)).toMatchObject(UNAUTHENTICATED);
    expect(router.asked).toEqual([]);
  });

  it('refuses one that is almost right: cut, longer, in other case, its own hash', async () => {
    const hash = open.entries[0]?.sha256 ?? '';
    for (const token of [open.alice.slice(0, -1), `${open.alice}A`, open.alice.toUpperCase(), hash]) {
      expect(await failure(token)).toMatchObject(UNAUTHENTICATED);
    }
  });

  it('refuses another scheme, and two tokens at once', async () => {
    const raw = rawTools(open.gateway.address, undefined);
    raw.metadata.set('authorization', `Basic ${open.alice}`);
    expect(await raw.fails(() => raw.call({ waitMs: 0 }))).toMatchObject(UNAUTHENTICATED);
    raw.metadata.set('authorization', `Bearer ${open.alice}, Bearer ${open.bob}`);
    expect(await raw.fails(() => raw.call({ waitMs: 0 }))).toMatchObject(UNAUTHENTICATED);
    raw.close();
  });

  it('refuses a token that has expired or is disabled', async () => {
    const old = open.issue({ id: 'old', ...ALICE, expiresAt: Date.now() - 1 });
    const off = open.issue({ id: 'off', ...ALICE });
    open.entries[3] = { ...open.entries[3], disabled: true } as never;
    const fresh = open.issue({ id: 'fresh', ...ALICE, expiresAt: Date.now() + 60_000 });
    open.writeTokens();
    await until(() => log.includes('"tokens":5'), 'reading the file again');
    expect(await isAccepted(fresh)).toBe(true);
    expect(await failure(old)).toMatchObject(UNAUTHENTICATED);
    expect(await failure(off)).toMatchObject(UNAUTHENTICATED);
  });

  it('is checked on every verb, the registry and the stream included', async () => {
    const stranger = open.connect(issueToken({ id: 'x', ...ALICE }).token);
    const refused = { name: 'FabricError', type: 'unauthenticated' };
    const verbs = [
      stranger.createTask({}),
      stranger.getTask(TASK),
      stranger.endTask(TASK, 'failed'),
      stranger.listTools(),
      stranger.describeTool('a.b'),
      stranger.getCall('2969-00000000000000000000000000'),
      stranger.cancelCall('2969-00000000000000000000000000'),
      stranger.watchCall('2969-00000000000000000000000000').next(),
      stranger.putDraft({}),
      stranger.publish('a.b', '1.0.0'),
      stranger.deprecate('a.b', '1.0.0'),
      stranger.retire('a.b', '1.0.0'),
    ];
    for (const verb of verbs) await expect(verb).rejects.toMatchObject(refused);
    expect(router.asked).toEqual([]);
  });

  it('never logs a token', async () => {
    await failure(issueToken({ id: 'x', ...ALICE }).token);
    router.handle = () => '{}';
    await failure(open.alice);
    expect(log).toContain('request_failed');
    expect(log).not.toMatch(/tf_|Bearer/);
  });
});

it('RS-4: a caller whose token is taken back while it waits is not told the result', async () => {
  const answer = open.connect(open.alice).call({ taskId: TASK, tool: 'a.b', args: {} });
  answer.catch(() => {});
  await until(() => router.calls.size === 1, 'a call');
  open.entries.shift();
  open.writeTokens();
  await until(() => log.includes('tokens_read'), 'reading the file again');
  router.settle([...router.calls.keys()][0] ?? '');
  await expect(answer).rejects.toMatchObject({ type: 'unauthenticated' });
});

describe('the tokens file', () => {
  it('is read again when it changes: a new token works, one that was taken out does not', async () => {
    const carol = open.issue({ id: 'carol', tenant: 'acme', user: 'carol', agent: 'coder' });
    expect(await isAccepted(carol)).toBe(false);
    open.entries.shift();
    open.writeTokens();
    await until(() => log.includes('tokens_read'), 'reading the file again');
    expect(await isAccepted(carol)).toBe(true);
    expect(await failure(open.alice)).toMatchObject(UNAUTHENTICATED);
  });

  it('keeps the known tokens while the file is half written', async () => {
    writeFileSync(open.tokensFile, '[{"id":"alice"');
    await until(() => log.includes('tokens_file_invalid'), 'noticing the broken file');
    expect(await isAccepted(open.alice)).toBe(true);
    open.writeTokens();
    appendFileSync(open.tokensFile, '\n');
    await until(() => log.includes('tokens_read'), 'reading the whole file');
    expect(await isAccepted(open.alice)).toBe(true);
  });

  it('takes every token with it when it is removed', async () => {
    rmSync(open.tokensFile);
    await until(() => log.includes('"tokens":0'), 'noticing that it is gone');
    expect(await failure(open.alice)).toMatchObject(UNAUTHENTICATED);
  });

  it.each([
    ['a hash twice', (entry: object) => [entry, { ...entry, id: 'two' }]],
    ['an id twice', (entry: object) => [entry, { ...entry, sha256: '0'.repeat(64) }]],
    ['a field that is not known', (entry: object) => [{ ...entry, admin: true }]],
    ['a token in the clear', (entry: object) => [{ ...entry, sha256: 'tf_abc' }]],
    ['a tenant that is no token', (entry: object) => [{ ...entry, tenant: 'a.b' }]],
    ['no list', (entry: object) => entry],
  ])('is not valid with %s', (_what, change) => {
    const { entry } = issueToken({ id: 'one', ...BOB });
    expect(TokensFile.safeParse([entry]).success).toBe(true);
    expect(TokensFile.safeParse(change(entry)).success).toBe(false);
  });

  it('must hold a token before the gateway listens', async () => {
    const { watchTokensFile } = await import('./watch-tokens-file.ts');
    const logger = createLogger('gateway', () => {});
    await expect(watchTokensFile('/nowhere/tokens.json', new TokenBook(), logger)).rejects.toThrow('ENOENT');
    writeFileSync(open.tokensFile, '[]');
    await expect(watchTokensFile(open.tokensFile, new TokenBook(), logger)).rejects.toThrow('holds no token');
    writeFileSync(open.tokensFile, 'tf_secret');
    const error = await watchTokensFile(open.tokensFile, new TokenBook(), logger).catch((thrown) => thrown);
    expect(String(error)).toContain('is not valid');
    expect(String(error)).not.toContain('tf_secret');
  });
});

describe('issueToken', () => {
  it('makes 256 random bits and stores only their hash', () => {
    const made = Array.from({ length: 50 }, () => issueToken({ id: 'one', ...BOB, rights: ['registry:publish'] }));
    expect(new Set(made.map(({ token }) => token)).size).toBe(50);
    for (const { token, entry } of made) {
      expect(token).toMatch(/^tf_[A-Za-z0-9_-]{43}$/);
      expect(JSON.stringify(entry)).not.toContain(token);
      expect(entry).toMatchObject({ ...BOB, id: 'one', rights: ['registry:publish'] });
    }
  });
});

describe('requests in flight', () => {
  it('are bounded for each token: too many are overloaded and retryable, another token is not touched', async () => {
    await reopen({ limits: { requestsPerToken: 2 } });
    const client = open.connect(open.alice);
    const waiting = [1, 2].map(() => client.call({ taskId: TASK, tool: 'a.b', args: {} }));
    await until(() => router.calls.size === 2, 'two calls');
    expect(await failure(open.alice)).toMatchObject({
      code: status.RESOURCE_EXHAUSTED,
      error: { type: 'overloaded', retryable: true, retryAfterMs: 1_000 },
    });
    expect(await isAccepted(open.bob)).toBe(true);
    for (const callId of [...router.calls.keys()].slice(0, 2)) router.settle(callId);
    await Promise.all(waiting);
    expect(await isAccepted(open.alice)).toBe(true);
  });
});
