import { once } from 'node:events';
import { existsSync } from 'node:fs';
import type { RequestListener, ServerResponse } from 'node:http';
import { createEgressDoor } from '@toolfabric/egress-http';
import { RequestBroken } from '@toolfabric/ports';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { permitFor } from '../../apps/egress/src/testing/open-egress.ts';
import { type ClientRig, envelopeOf, get, HOST, openClientRig, textOf } from './client-rig.ts';

const MEGABYTE = 1_048_576;
/** Bytes that the endless answer could give away. */
let written = 0;
const endless = (res: ServerResponse): void => {
  const chunk = Buffer.alloc(65_536, 'x');
  const write = (): void => {
    do written += chunk.length;
    while (!res.destroyed && res.write(chunk));
  };
  res.on('drain', write);
  write();
};
/** `/echo` gives back what came, `/begun` never ends, `/large` is a megabyte, everything else says what it was asked. */
const answer: RequestListener = (req, res) => {
  if (req.url === '/echo') return void req.pipe(res.writeHead(200, { 'content-type': 'application/octet-stream' }));
  if (req.url === '/begun') return void res.writeHead(200).write('the beginning');
  if (req.url === '/silent') return;
  if (req.url === '/large') return void res.end(Buffer.alloc(MEGABYTE, 'x'));
  if (req.url === '/endless') return endless(res);
  if (req.url === '/twice') return void res.setHeader('set-cookie', ['a=1', 'b=2']).end();
  if (req.url === '/moved') return void res.writeHead(302, { location: '/elsewhere' }).end();
  if (req.url === '/packed') return void res.writeHead(200, { 'content-encoding': 'gzip' }).end('not unpacked');
  res.end(`hello ${req.method} ${req.url}`);
};

let rig: ClientRig;
beforeAll(async () => {
  rig = await openClientRig(answer);
});
afterAll(() => rig.stop());

const ways = () =>
  [
    ['in the clear', rig.rules.plain, rig.plainUrl, rig.plain],
    ['passed through', rig.rules.passed, rig.secureUrl, rig.secure],
    ['read on the way', rig.rules.read, rig.secureUrl, rig.secure],
  ] as const;
const WAYS = [0, 1, 2];
const NAMES = ['in the clear', 'passed through', 'read on the way'];
const wayOf = (index: number) => {
  const way = ways()[index];
  if (way === undefined) throw new RangeError(String(index));
  return way;
};
const each = WAYS.map((index) => [NAMES[index] ?? '', index] as const);

describe('a request through the door', () => {
  it.each(each)('SB-2: comes to the host as it was asked, and its answer back whole (%s)', async (_, index) => {
    const [, rule, urlOf, peer] = wayOf(index);
    const session = rig.session([rule]);
    const headers = { 'x-mine': 'yes', accept: 'text/plain' };
    const answered = await session.request(get(urlOf('/a?b=c'), { headers }));
    expect(answered.status).toBe(200);
    expect(await textOf(answered)).toBe('hello GET /a?b=c');
    const seen = peer.seen.at(-1);
    expect(seen?.headers).toMatchObject({ 'x-mine': 'yes', host: `${HOST}:${peer.port}` });
    expect(Object.keys(seen?.headers ?? {}).filter((name) => name.startsWith('proxy'))).toEqual([]);
    await session.close();
  });

  it.each(each)('a body goes both ways as it is (%s)', async (_, index) => {
    const [, rule, urlOf] = wayOf(index);
    const body = Buffer.from(Array.from({ length: 300_000 }, (_, i) => i % 251));
    const session = rig.session([{ ...rule, ...(index === 1 ? {} : { methods: ['POST'] }) }]);
    const echoed = await session.request(get(urlOf('/echo'), { method: 'POST', body }));
    const parts: Uint8Array[] = [];
    for await (const part of echoed.body) parts.push(part);
    expect(Buffer.concat(parts).equals(body)).toBe(true);
  });

  it('follows no redirect, keeps no cookie and takes no encoding off', async () => {
    const session = rig.session([rig.rules.plain]);
    expect((await session.request(get(rig.plainUrl('/moved')))).headers).toMatchObject({ location: '/elsewhere' });
    const packed = await session.request(get(rig.plainUrl('/packed')));
    expect(await textOf(packed)).toBe('not unpacked');
    const cookies = await session.request(get(rig.plainUrl('/twice')));
    expect(cookies.headers['set-cookie']).toBe('a=1, b=2');
    cookies.discard();
    await textOf(await session.request(get(rig.plainUrl('/after'))));
    expect(rig.plain.seen.at(-1)?.headers).not.toHaveProperty('cookie');
  });

  it('a session opens its permit once, however many ask at the same time', async () => {
    const before = rig.egress.permits();
    const session = rig.session([rig.rules.plain, rig.rules.read]);
    const asked = [rig.plainUrl, rig.secureUrl, rig.plainUrl, rig.secureUrl].map((urlOf, i) =>
      session.request(get(urlOf(`/side-by-side-${i}`))).then(textOf),
    );
    expect(await Promise.all(asked)).toEqual([0, 1, 2, 3].map((i) => `hello GET /side-by-side-${i}`));
    expect(rig.egress.permits() - before).toBe(1);
  });

  it('a program is told socket and token, and the file of the authority where something is read', async () => {
    const door = createEgressDoor({ socketPath: rig.egress.socketPath, caFile: '/etc/hosts' });
    const reads = door.session(envelopeOf(permitFor([rig.rules.read])));
    expect((await reads.proxy(AbortSignal.timeout(20_000))).caFile).toBe('/etc/hosts');
    await reads.close();
    const session = door.session(envelopeOf(permitFor([rig.rules.passed])));
    const proxy = await session.proxy(AbortSignal.timeout(20_000));
    expect(existsSync(proxy.socketPath)).toBe(true);
    expect(proxy.caFile).toBeUndefined();
    const { socket, refused } = await rig.egress.tunnel(`${HOST}:${rig.secure.port}`, proxy.token);
    expect(refused).toBeUndefined();
    await session.close();
    await once(socket.resume(), 'close');
    const after = await rig.egress.tunnel(`${HOST}:${rig.secure.port}`, proxy.token);
    expect(after.refused?.reason).toBe('permit_closed');
  });
});

describe('what the door refuses', () => {
  it.each([
    ['another host', 'https://other.example.com/', 'host_not_permitted'],
    ['an address in place of the name', 'http://0177.1/', 'host_not_permitted'],
    ['another port', `http://${HOST}:1/`, 'port_not_permitted'],
    ['a name with an empty label', `http://a..${HOST}/`, 'target_malformed'],
  ])('is typed, with its reason first: %s', async (_, address, reason) => {
    const session = rig.session([rig.rules.plain]);
    const asked = session.request(get(new URL(address)));
    await expect(asked).rejects.toMatchObject({ type: 'egress_refused' });
    await expect(asked).rejects.toThrow(new RegExp(`^${reason}: `));
  });

  it.each(each.filter(([, index]) => index !== 1))(
    'a method that no rule names never leaves (%s)',
    async (_, index) => {
      const [, rule, urlOf, peer] = wayOf(index);
      const session = rig.session([{ ...rule, methods: ['GET'] }]);
      const before = peer.seen.length;
      const asked = session.request(get(urlOf('/x'), { method: 'POST', body: Buffer.from('x') }));
      await expect(asked).rejects.toThrow(/^method_not_permitted: /);
      expect(peer.seen.length).toBe(before);
    },
  );

  it('a certificate of nobody who is trusted is refused, whoever finds it', async () => {
    const door = createEgressDoor({ socketPath: rig.egress.socketPath, ca: rig.inside.cert });
    const session = door.session(envelopeOf(permitFor([rig.rules.passed])));
    const asked = session.request(get(rig.secureUrl('/x')));
    await expect(asked).rejects.toMatchObject({ type: 'egress_refused' });
    await expect(asked).rejects.toThrow(/^tls_certificate: /);
    await session.close();
  });

  it('a host that takes no connection is unreachable, and that nothing was sent is known', async () => {
    const session = rig.session([
      { ...rig.rules.plain, ports: [1] },
      { ...rig.rules.read, ports: [2] },
    ]);
    for (const address of [`http://${HOST}:1/`, `https://${HOST}:2/`]) {
      const asked = session.request(get(new URL(address), { method: 'POST', body: Buffer.from('x') }));
      await expect(asked).rejects.toMatchObject({ type: 'host_unreachable' });
    }
  });

  it.each([
    ['expired', { expires: Date.now() - 120_000 }, 'permit_expired'],
    ['of another pool', { kind: 'cli' }, 'permit_malformed'],
  ])('a permit that is %s opens nothing', async (_, over, reason) => {
    const asked = rig.session([rig.rules.plain], over).request(get(rig.plainUrl('/x')));
    await expect(asked).rejects.toMatchObject({ type: 'egress_refused' });
    await expect(asked).rejects.toThrow(new RegExp(`^${reason}: `));
  });

  it('a permit that was changed on the way, or that no router signed, opens nothing', async () => {
    const door = createEgressDoor({ socketPath: rig.egress.socketPath });
    const good = envelopeOf(permitFor([rig.rules.plain]));
    const changed = { ...good, body: good.body.replace('"maxConnections":16', '"maxConnections":99') };
    expect(changed.body).not.toBe(good.body);
    for (const envelope of [changed, { ...good, sig: 'A'.repeat(86) }, { ...good, kid: 'worker-1' }]) {
      const asked = door.session(envelope).request(get(rig.plainUrl('/x')));
      await expect(asked).rejects.toThrow(/^permit_malformed: /);
    }
  });
});

const closings = () => rig.egress.attempts.filter(({ verdict }) => verdict === 'closed').length;

describe('an end', () => {
  it('close is answered after every connection is closed; what was asked then fails', async () => {
    const session = rig.session([rig.rules.plain, rig.rules.read]);
    const [plain, read] = [
      await session.request(get(rig.plainUrl('/begun'))),
      await session.request(get(rig.secureUrl('/begun'))),
    ];
    const ended = Promise.allSettled([textOf(plain), textOf(read)]);
    const before = closings();
    await session.close();
    expect(closings() - before).toBe(2);
    expect((await ended).map(({ status }) => status)).toEqual(['rejected', 'rejected']);
    await expect(session.request(get(rig.plainUrl('/x')))).rejects.toMatchObject({ type: 'egress_unavailable' });
    await session.close();
  });

  it('a session that was never used closes without a word', async () => {
    const before = rig.egress.permits();
    await rig.session([rig.rules.plain]).close();
    expect(rig.egress.permits()).toBe(before);
  });

  it.each(each)('a request that is given up ends on the wire (%s)', async (_, index) => {
    const [, rule, urlOf, peer] = wayOf(index);
    const stop = new AbortController();
    const session = rig.session([rule]);
    const [before, closedBefore] = [peer.seen.length, closings()];
    const asked = session.request(get(urlOf('/silent'), { signal: stop.signal }));
    const ended = asked.then(
      () => 'answered',
      (thrown: unknown) => thrown,
    );
    await expect.poll(() => peer.seen.length, { timeout: 15_000 }).toBe(before + 1);
    stop.abort(new Error('changed my mind'));
    expect(await ended).toMatchObject({ message: 'changed my mind' });
    await expect.poll(() => closings() - closedBefore, { timeout: 15_000 }).toBe(1);
    await session.close();
  });

  it.each(each)(
    'a revocation while the host is silent: the request may have acted, and says so (%s)',
    async (_, index) => {
      const [, rule, urlOf, peer] = wayOf(index);
      const permit = permitFor([rule]);
      const session = rig.door.session(envelopeOf(permit));
      const before = peer.seen.length;
      const asked = session.request(get(urlOf('/silent'), { method: index === 1 ? 'POST' : 'GET' }));
      const ended = asked.then(
        () => 'answered',
        (thrown: unknown) => thrown,
      );
      await expect.poll(() => peer.seen.length, { timeout: 15_000 }).toBe(before + 1);
      expect(await rig.egress.revoke({ callId: permit.callId, epoch: 1 })).toEqual({ closed: 1 });
      expect(await ended).toBeInstanceOf(RequestBroken);
      await expect(session.request(get(urlOf('/x')))).rejects.toThrow(/^permit_revoked: /);
      await session.close();
    },
  );

  it('a body beyond the bytes of the permit is cut, and never told as whole', async () => {
    const session = rig.session([rig.rules.plain], { maxBytes: 100_000 });
    const answered = await session.request(get(rig.plainUrl('/large')));
    await expect(textOf(answered)).rejects.toThrow();
    await expect(session.request(get(rig.plainUrl('/x')))).rejects.toThrow(/^budget_exceeded: /);
  });

  it('a body that nobody reads waits at the host', async () => {
    const session = rig.session([rig.rules.plain], { maxBytes: 1_000 * MEGABYTE });
    const answered = await session.request(get(rig.plainUrl('/endless')));
    const seen: number[] = [];
    const isStill = () => {
      seen.push(written);
      return seen.length > 5 && seen.slice(-5).every((bytes) => bytes === written);
    };
    await expect.poll(isStill, { timeout: 20_000, interval: 100 }).toBe(true);
    expect(written).toBeLessThan(16 * MEGABYTE);
    answered.discard();
    await session.close();
  });
});
