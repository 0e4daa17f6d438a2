import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { permitFor } from '../../apps/egress/src/testing/open-egress.ts';
import { openPeer, type Peer } from '../../apps/egress/src/testing/open-peer.ts';
import { openWebRig, type WebRig } from './through-egress.ts';

const HOST = 'shop.example.com';
let rig: WebRig;
let site: Peer;
beforeAll(async () => {
  rig = await openWebRig();
  site = await openPeer(undefined, (request, response) => {
    if (request.url === '/begun') {
      response.writeHead(200, { 'content-type': 'text/plain' }).write('the beginning');
      return;
    }
    const tenant = request.url === '/tagged' ? '"of-everybody"' : '';
    if (tenant !== '' && request.headers['if-none-match'] === tenant) return void response.writeHead(304).end();
    response.writeHead(200, { 'content-type': 'text/plain', ...(tenant === '' ? {} : { etag: tenant }) }).end('here');
  });
}, 30_000);
afterAll(async () => {
  await rig.stop();
  await site.stop();
});

const address = (path: string) => `http://${HOST}:${site.port}${path}`;
const rules = () => rig.rules(site.port, HOST);
/** A fetch whose answer has begun at the site and does not go on. */
const begun = async (over: ReturnType<typeof permitFor>) => {
  const before = site.seen.length;
  const running = rig.fetch(address('/begun'), rules(), { permit: over });
  const ended = running.then(
    () => 'ok',
    (thrown: { type?: string }) => thrown.type ?? 'no type',
  );
  await expect.poll(() => site.seen.length).toBe(before + 1);
  return ended;
};

describe('WB-2: tenants through one worker and one way out', () => {
  it('the second fetch of a tenant asks with its tag; another tenant knows nothing of it', async () => {
    const asTenant = (tenant: string) =>
      rig.fetch(address('/tagged'), rules(), { tenant, permit: { actor: { tenant, user: 'ann', agent: 'coder' } } });
    await asTenant('acme');
    expect((await asTenant('acme')).data).toMatchObject({ status: 200, unchanged_since_earlier_fetch: true });
    const { data } = await asTenant('rival');
    expect(data).not.toHaveProperty('unchanged_since_earlier_fetch');
    expect(site.seen.slice(-3).map(({ headers }) => headers['if-none-match'])).toEqual([
      undefined,
      '"of-everybody"',
      undefined,
    ]);
  });

  it('a copy is no way round: with leave taken away the same address is refused', async () => {
    const [rule] = rules();
    if (rule === undefined) throw new Error('there is a rule');
    const elsewhere = [{ ...rule, host: 'other.example.com' }];
    await expect(rig.fetch(address('/tagged'), elsewhere)).rejects.toMatchObject({ type: 'egress_refused' });
  });
});

describe('WB-2: a way out that ends in the middle', () => {
  it('a permit that is revoked ends the body, and nothing is told as its content', async () => {
    const permit = permitFor(rules());
    const ended = await begun(permit);
    await rig.egress.revoke({ callId: permit.callId, epoch: permit.epoch });
    expect(await ended).toBe('host_unreachable');
    await expect(rig.fetch(address('/x'), rules(), { permit })).rejects.toMatchObject({ type: 'egress_refused' });
  });

  it('a permit that has expired opens nothing', async () => {
    const late = rig.fetch(address('/x'), rules(), { permit: { expires: Date.now() - 120_000 } });
    await expect(late).rejects.toMatchObject({ type: 'egress_refused' });
  });

  it('after the egress is gone a call in flight ends, and the next one is told that there is no way out', async () => {
    const ended = await begun(permitFor(rules()));
    await rig.egress.stop();
    expect(await ended).toBe('host_unreachable');
    await expect(rig.fetch(address('/x'), rules())).rejects.toMatchObject({ type: 'egress_unavailable' });
  });
});
