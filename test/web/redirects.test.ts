import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { certificateFor, testAuthority } from '../../apps/egress/src/testing/certificates.ts';
import { openPeer, type Peer } from '../../apps/egress/src/testing/open-peer.ts';
import { openWebRig, type WebRig } from './through-egress.ts';

const HOST = 'shop.example.com';
let rig: WebRig;
let site: Peer;
let inner: Peer;
let secure: Peer;
let wrong: Peer;
let target = '/';
beforeAll(async () => {
  const outside = await testAuthority();
  rig = await openWebRig([outside.cert]);
  site = await openPeer(undefined, ({ url = '' }, response) => {
    const [, left] = /^\/hop-(\d)$/.exec(url) ?? [];
    if (left === undefined) return void response.end('arrived');
    const location = left === '0' ? target : `/hop-${Number(left) - 1}`;
    response.writeHead(302, { location }).end();
  });
  inner = await openPeer(undefined, (_request, response) => response.end('PRIVATE'));
  secure = await openPeer(await certificateFor([HOST], outside), (_request, response) => response.end('over TLS'));
  wrong = await openPeer(await certificateFor(['other.example.com'], outside));
}, 30_000);
afterEach(() => {
  for (const name of Object.keys(rig.names)) delete rig.names[name];
});
afterAll(async () => {
  await rig.stop();
  await Promise.all([site, inner, secure, wrong].map((peer) => peer.stop()));
});

const start = (hops: number) => `http://${HOST}:${site.port}/hop-${hops}`;
const PRIVATE: readonly (readonly [string, (port: number) => string])[] = [
  ['loopback', (port) => `http://127.0.0.1:${port}/`],
  ['loopback in IPv6', (port) => `http://[::1]:${port}/`],
  ['a mapped address', (port) => `http://[::ffff:127.0.0.1]:${port}/`],
  ['a number', (port) => `http://2130706433:${port}/`],
  ['a short form', (port) => `http://127.1:${port}/`],
  ['its name', (port) => `http://localhost:${port}/`],
  ['metadata', () => 'http://169.254.169.254/latest/meta-data/'],
  ['a private network', () => 'http://10.0.0.1/admin'],
  ['another port of the same host', (port) => `http://${HOST}:${port}/`],
  ['a host whose name begins alike', (port) => `http://${HOST}.evil.example:${port}/`],
  ['a host behind a user', (port) => `http://${HOST}@127.0.0.1:${port}/`],
];

describe('WB-2: no hop of a redirect leads where the call may not go', () => {
  it.each(PRIVATE)('%s: on the first hop, on the second and on the fourth', async (_what, addressOf) => {
    target = addressOf(inner.port);
    for (const hops of [0, 1, 3]) {
      const { data, status } = await rig.fetch(start(hops), rig.rules(site.port, HOST));
      expect({ status, code: data['status'], text: data['untrusted'].text }).toEqual({
        status: 'ok',
        code: 302,
        text: '',
      });
      expect(data['not_followed']).toMatch(/^(not_permitted|has_user)$/);
      expect(data['untrusted'].redirects?.length ?? 0).toBe(hops);
    }
    expect(inner.seen).toEqual([]);
  });

  it('a permitted name that leads inside ends the call, on whichever hop', async () => {
    rig.names['inside.example.com'] = '10.1.2.3';
    target = `http://inside.example.com:${site.port}/`;
    for (const hops of [0, 2])
      await expect(rig.fetch(start(hops), rig.rules(site.port, HOST, 'inside.example.com'))).rejects.toMatchObject({
        type: 'egress_refused',
        message: expect.stringMatching(/^address_not_permitted:/),
      });
  });

  it('a name that answers with another address the second time is asked and checked each time', async () => {
    rig.names['turns.example.com'] = ['127.0.0.1', '169.254.169.254'];
    const rules = rig.rules(site.port, 'turns.example.com');
    const url = `http://turns.example.com:${site.port}/x`;
    expect((await rig.fetch(url, rules)).data).toMatchObject({ status: 200 });
    await expect(rig.fetch(url, rules)).rejects.toMatchObject({ type: 'egress_refused' });
  });

  it('without leave for its own network a private address is refused at once', async () => {
    const rules = rig.rules(site.port, HOST).map(({ addresses: _, ...rule }) => rule);
    const before = site.seen.length;
    await expect(rig.fetch(start(0), rules)).rejects.toMatchObject({ type: 'egress_refused' });
    expect(site.seen.length).toBe(before);
  });
});

describe('WB-2: https', () => {
  const rulesOf = (port: number) => rig.rules(port, HOST).map((rule) => ({ ...rule, scheme: 'https' as const }));

  it('goes through an exchange that the way out reads, and its methods are held', async () => {
    const { data } = await rig.fetch(`https://${HOST}:${secure.port}/a`, rulesOf(secure.port));
    expect(data['untrusted']).toMatchObject({ origin: `https://${HOST}:${secure.port}`, text: 'over TLS' });
    expect(secure.seen.at(-1)).toMatchObject({ method: 'GET', url: '/a' });
  });

  it('a certificate of another host is refused, and says why', async () => {
    await expect(rig.fetch(`https://${HOST}:${wrong.port}/`, rulesOf(wrong.port))).rejects.toMatchObject({
      type: 'egress_refused',
      message: expect.stringMatching(/^tls_certificate:/),
    });
    expect(wrong.seen).toEqual([]);
  });
});
