import { startNats, type TestNats } from '@toolfabric/testkit';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { BACK, CLIENT_SECRET, type OAuthRig, openOAuthRig, waitingAt } from '../testing/oauth-rig.ts';
import { busPlaceOf, keptOf } from '../testing/open-oauth.ts';

let nats: TestNats;
let rig: OAuthRig;
let { server, oauth, clock, fetchFor } = {} as OAuthRig;

beforeAll(async () => {
  nats = await startNats({ kinds: ['web'] });
  rig = await openOAuthRig(busPlaceOf(nats));
  ({ server, oauth, clock, fetchFor } = rig);
});
afterAll(async () => {
  await rig?.stop();
  await nats?.stop();
});

const LOGIN = { type: 'login_required' };

describe('PO-11: a login with authorization code and PKCE', () => {
  it('ends with tokens for the resource; the verifier waits sealed, and is gone afterwards', async () => {
    const kept = keptOf(server.issuer);
    const begun = await oauth.logins.begin(waitingAt(kept), BACK);
    const asked = new URL(begun.address).searchParams;
    expect(asked.get('code_challenge_method')).toBe('S256');
    expect(asked.get('resource')).toBe('https://api.example.com/v1');
    const stored = JSON.stringify(await oauth.store.get(waitingAt(kept).place));
    const verifier = (await oauth.pending.read(waitingAt(kept).place))?.secrets.verifier ?? '?';
    expect(stored).not.toContain(verifier);
    expect(stored).not.toContain(begun.state);
    const back = await server.browse(begun.address);
    const secrets = await oauth.logins.complete(waitingAt(kept), { clientSecret: CLIENT_SECRET }, begun.state, back);
    await oauth.vault.create(kept.place, secrets);
    expect(server.tokens.isGood((await fetchFor(kept)).token)).toBe(true);
    expect(await oauth.pending.read(waitingAt(kept).place)).toBeUndefined();
    await expect(oauth.logins.complete(waitingAt(kept), {}, begun.state, back)).rejects.toThrow('no such login');
  });

  it('of two that complete at once, one does', async () => {
    const kept = waitingAt(keptOf(server.issuer));
    const begun = await oauth.logins.begin(kept, BACK);
    const back = await server.browse(begun.address);
    const both = [1, 2].map(() => oauth.logins.complete(kept, { clientSecret: CLIENT_SECRET }, begun.state, back));
    const ended = await Promise.allSettled(both);
    expect(ended.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected']);
  });

  it.each<[string, (back: URL) => unknown, object]>([
    ['of another login', (back) => back.searchParams.set('state', 'x'.repeat(43)), { type: 'invalid_request' }],
    ['at another address', (back) => Object.assign(back, { port: '7778' }), { type: 'invalid_request' }],
    [
      'of another issuer',
      (back) => back.searchParams.set('iss', 'https://evil.example.com'),
      { type: 'invalid_request' },
    ],
    ['without an issuer, which it should name', (back) => back.searchParams.delete('iss'), { type: 'invalid_request' }],
    ['with another code', (back) => back.searchParams.set('code', 'guessed'), LOGIN],
    ['that says no', (back) => back.searchParams.set('error', 'access_denied'), LOGIN],
  ])('is not completed by an answer %s', async (_, change, failure) => {
    const kept = waitingAt(keptOf(server.issuer));
    const begun = await oauth.logins.begin(kept, BACK);
    const back = new URL(await server.browse(begun.address));
    change(back);
    const completing = oauth.logins.complete(kept, { clientSecret: CLIENT_SECRET }, begun.state, back.href);
    await expect(completing).rejects.toMatchObject(failure);
  });

  it('ends by time, by a newer login and by a newer version of the credential', async () => {
    const kept = waitingAt(keptOf(server.issuer));
    const begin = () => oauth.logins.begin(kept, BACK);
    const end = async ({ state, address }: Awaited<ReturnType<typeof begin>>, record = kept.record) =>
      oauth.logins.complete({ ...kept, record }, {}, state, await server.browse(address));
    const first = await begin();
    const second = await begin();
    await expect(end(first)).rejects.toMatchObject({ type: 'invalid_request' });
    await expect(end(second, { ...kept.record, version: 2 })).rejects.toMatchObject({ type: 'invalid_request' });
    clock.skip(61_000);
    await expect(end(second)).rejects.toMatchObject({ type: 'invalid_request' });
  });

  it('comes back to loopback, or exactly to an address of the operator', async () => {
    const kept = waitingAt(keptOf(server.issuer));
    await oauth.logins.begin(kept, 'https://fabric.example.com/login');
    const others = `https://fabric.example.com/login2 https://evil.example.com/ http://127.0.0.1.evil.example.com/
      http://user@127.0.0.1/ https://127.0.0.1/ http://10.0.0.1/ http://127.0.0.1/#x nothing`;
    for (const wrong of others.split(/\s+/))
      await expect(oauth.logins.begin(kept, wrong)).rejects.toMatchObject({ type: 'invalid_request' });
    const machine = keptOf(server.issuer, { kind: 'oauth_client_credentials' });
    await expect(oauth.logins.begin(machine, BACK)).rejects.toMatchObject({ type: 'invalid_request' });
  });
});
