import { startNats, type TestNats, waitFor } from '@toolfabric/testkit';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { OAuthServer } from '../testing/oauth-server.ts';
import { busPlaceOf, inside, keptOf, openOAuth, TEST_OAUTH_PACE, type TestOAuth } from '../testing/open-oauth.ts';
import { type Renewer, spawnRenewer } from '../testing/spawn-renewer.ts';
import { generateVaultKey } from '../vault/vault-keys.ts';

const WAIT = { timeoutMs: 20_000 };
const keys = generateVaultKey();
let nats: TestNats;
let server: OAuthServer;
let here: TestOAuth;
const running: Renewer[] = [];
/** Tokens that came in this process, before they are stored. */
const refreshed: string[] = [];

beforeAll(async () => {
  nats = await startNats({ kinds: ['web'] });
  server = await OAuthServer.start();
  const settings = { privateOrigins: inside(server.issuer) };
  here = await openOAuth(busPlaceOf(nats), keys, { settings, faults: { at: () => void refreshed.push('here') } });
});
afterEach(() => {
  for (const renewer of running.splice(0)) renewer.signal('SIGKILL');
  server.rotates = true;
});
afterAll(async () => {
  await here?.stop();
  await server?.stop();
  await nats?.stop();
});

/** One that is the only other one may take over soon: nobody who still works is overtaken by it. */
const SOON_MS = 1_500;
const spawnOne = async (faults = '', leaseMs = 60_000): Promise<Renewer> => {
  const renewer = await spawnRenewer({ bus: busPlaceOf(nats), keys, issuer: server.issuer, faults, leaseMs });
  running.push(renewer);
  return renewer;
};

/** A login whose access token is over. */
const loggedIn = async () => {
  const kept = keptOf(server.issuer);
  const options = { aud: undefined, issuer: server.issuer, lifeS: 1, opaque: true };
  const { refresh_token = '' } = server.tokens.begin('authorization_code', '', options) as { refresh_token?: string };
  await here.vault.create(kept.place, { clientSecret: 'client-secret-canary', refreshToken: refresh_token });
  return kept;
};

const machine = async () => {
  const kept = keptOf(server.issuer, { kind: 'oauth_client_credentials' });
  await here.vault.create(kept.place, { clientSecret: 'client-secret-canary' });
  return kept;
};

const counted = async <T>(grant: string, work: () => Promise<T>): Promise<{ found: T; asked: number }> => {
  const before = server.count('asked', grant);
  const found = await work();
  return { found, asked: server.count('asked', grant) - before };
};

describe('PO-11: one renewal over several egress processes', () => {
  it('ten calls in two processes make one refresh, and all show the same good token', async () => {
    const [a, b, kept] = await Promise.all([spawnOne(), spawnOne(), loggedIn()]);
    server.arm({ type: 'hold' });
    const { found, asked } = await counted('refresh_token', async () => {
      const fetching = Promise.all([a.fetch(kept, 5), b.fetch(kept, 5)]);
      await waitFor(() => server.waiting === 1, WAIT);
      server.release();
      return (await fetching).flat();
    });
    expect(asked).toBe(1);
    expect(found).toHaveLength(10);
    const tokens = new Set(found.map(({ token }) => token));
    expect(tokens.size).toBe(1);
    expect(server.tokens.isGood([...tokens][0] ?? '')).toBe(true);
    expect(server.count('reused')).toBe(0);
  });

  it('a refresher killed before it stored: the login is over, said at once from then on, and nobody asks again', async () => {
    const [doomed, other, kept] = await Promise.all([
      spawnOne('egress.refreshed:kill'),
      spawnOne('', SOON_MS),
      loggedIn(),
    ]);
    const { found, asked } = await counted('refresh_token', async () => {
      const lost = doomed.fetch(kept, 1).catch(() => []);
      expect(await doomed.exited).toBe('SIGKILL');
      await lost;
      return [await other.fetch(kept, 3), await other.fetch(kept, 1)].flat();
    });
    expect(found.map(({ error }) => error)).toEqual(Array(4).fill('login_required'));
    expect(asked).toBe(1);
    expect(server.count('reused')).toBe(0);
    await expect(here.tokenFor(kept, AbortSignal.timeout(15_000))).rejects.toMatchObject({ type: 'login_required' });
  });

  it('a refresher killed at a server that keeps refresh tokens: another one asks again', async () => {
    server.rotates = false;
    const kept = await loggedIn();
    server.lifeS = 1;
    const first = await here.tokenFor(kept, AbortSignal.timeout(15_000));
    server.lifeS = 3_600;
    const [doomed, other] = await Promise.all([spawnOne('egress.refreshed:kill'), spawnOne('', SOON_MS)]);
    await waitFor(async () => Date.now() > (first.expiresAt ?? 0), WAIT);
    const { found, asked } = await counted('refresh_token', async () => {
      const lost = doomed.fetch(kept, 1).catch(() => []);
      await doomed.exited;
      await lost;
      return other.fetch(kept, 2);
    });
    expect(asked).toBe(2);
    expect(found.every(({ token }) => token !== undefined && server.tokens.isGood(token))).toBe(true);
  });

  it('one that slept while another took its lease over stores nothing when it wakes', async () => {
    const [sleeper, other, kept] = await Promise.all([
      spawnOne('egress.refreshed:pause'),
      spawnOne('', SOON_MS),
      machine(),
    ]);
    const { found, asked } = await counted('client_credentials', async () => {
      const late = sleeper.fetch(kept, 1);
      await waitFor(() => server.count('issued', 'client_credentials') > 0, WAIT);
      const [ours] = await other.fetch(kept, 1);
      sleeper.signal('SIGCONT');
      return { ours, late: (await late)[0] };
    });
    expect(asked).toBe(2);
    expect(found.late).toEqual({ error: 'unavailable' });
    expect(found.ours?.token).toBeDefined();
    expect((await here.vault.read(kept.place))?.secrets.accessToken).toBe(found.ours?.token);
  });

  it('a process that stops does not wait for what another one renews', async () => {
    const kept = await loggedIn();
    const opened = await here.vault.read(kept.place);
    if (opened === undefined) throw new Error('nothing is stored');
    await here.vault.mark(kept.place, opened, { lease: 'of-somebody-else' });
    const settings = {
      privateOrigins: inside(server.issuer),
      pace: { ...TEST_OAUTH_PACE, patienceMs: 3_600_000, leaseMs: 3_600_000 },
    };
    const other = await openOAuth(busPlaceOf(nats), keys, { settings });
    const fetching = other.tokenFor(kept, AbortSignal.timeout(60_000));
    const refused = expect(fetching).rejects.toMatchObject({ type: 'unavailable' });
    await other.stop();
    await refused;
  });

  it('a bus that is gone while tokens come: they are stored when it is back within its time', async () => {
    const kept = await loggedIn();
    server.arm({ type: 'hold' });
    const before = server.count('issued', 'refresh_token');
    const fetching = here.tokenFor(kept, AbortSignal.timeout(30_000));
    await waitFor(() => server.waiting === 1, WAIT);
    const seen = refreshed.length;
    await nats.pause();
    server.release();
    await waitFor(() => refreshed.length > seen, WAIT);
    nats.resume();
    const { token } = await fetching;
    expect(server.count('issued', 'refresh_token')).toBe(before + 1);
    expect((await here.vault.read(kept.place))?.secrets.accessToken).toBe(token);
  });
});
