import type { IncomingMessage, RequestListener } from 'node:http';
import { connect } from 'node:net';
import { brotliCompressSync, deflateSync, gunzipSync, gzipSync, zstdCompressSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { basic, exchangeRaw, openEgress, permitFor, type TestEgress } from './testing/open-egress.ts';
import { openPeer, type Peer } from './testing/open-peer.ts';

const SECRET = 'canary-of-the-vault';
const STARS = '*'.repeat(SECRET.length);
const BOMB_BYTES = 4_000_000;

const PACKERS: Record<string, (bytes: Buffer) => Buffer> = {
  gzip: gzipSync,
  'x-gzip': gzipSync,
  deflate: deflateSync,
  br: brotliCompressSync,
  zstd: zstdCompressSync,
};
const said = ({ headers }: IncomingMessage): Buffer => Buffer.from(JSON.stringify({ you: headers.authorization }));

/** A host that packs whatever it is asked for: `/<coding>,<coding>`, applied in this order. */
const packing: RequestListener = (req, res) => {
  const [, what = ''] = decodeURIComponent(req.url ?? '').split('/');
  const codings = what.split(',');
  if (what === 'bomb') return void res.setHeader('content-encoding', 'gzip').end(gzipSync(Buffer.alloc(BOMB_BYTES)));
  if (what === 'broken') return void res.setHeader('content-encoding', 'gzip').end('no gzip at all');
  const body = codings.reduce((bytes, coding) => PACKERS[coding]?.(bytes) ?? bytes, said(req));
  if (what === '206') return void res.writeHead(206, { 'content-encoding': 'gzip' }).end(gzipSync(said(req)));
  res.writeHead(200, { 'content-encoding': codings.join(', '), 'content-length': body.length }).end(body);
};

let peer: Peer;
let egress: TestEgress;
beforeAll(async () => {
  peer = await openPeer(undefined, packing);
  const shown = { headers: { Authorization: `Bearer ${SECRET}` }, secrets: [SECRET] };
  egress = await openEgress({}, { credentials: { headersFor: () => Promise.resolve(shown) } });
});
afterAll(async () => {
  await egress.stop();
  await peer.stop();
});

const ask = async (
  what: string,
  { method = 'GET', credential = true, maxBytes = 50_000_000, more = [] as string[] } = {},
) => {
  const rule = {
    host: 'shop.example.com',
    scheme: 'http' as const,
    ports: [peer.port],
    addresses: ['127.0.0.0/8'],
    ...(credential ? { credential: 'user:tracker' } : {}),
  };
  const token = await egress.open(permitFor([rule], { maxBytes }));
  const address = `shop.example.com:${peer.port}`;
  const lines = [`${method} http://${address}/${what} HTTP/1.1`, `host: ${address}`, 'connection: close', ...more];
  const text = `${[...lines, `proxy-authorization: ${basic(token)}`].join('\r\n')}\r\n\r\n`;
  return exchangeRaw(connect(egress.socketPath), text);
};
/** Chunks without their lengths. */
const bodyOf = ({ body }: { body: string }) => body.replace(/(^|\r\n)[0-9a-f]+\r\n/g, '').trim();

describe('PO-11: a secret that a host sends back packed', () => {
  it.each(['gzip', 'x-gzip', 'deflate', 'br', 'zstd', 'gzip,br', 'identity'])('in %s is covered', async (coding) => {
    const answer = await ask(coding);
    expect([answer.status, bodyOf(answer)]).toEqual([200, `{"you":"Bearer ${STARS}"}`]);
  });

  it.each(['compress', 'gzip,gzip,gzip', '206'])(
    'in %s, which cannot be looked through, comes not at all',
    async (coding) => {
      const answer = await ask(coding);
      expect(answer).toMatchObject({ status: 502, reason: 'response_malformed' });
      expect(answer.body).not.toContain(SECRET);
    },
  );

  it('is cut off where the packing is broken', async () => {
    expect((await ask('broken')).body).not.toContain('no gzip');
    expect(egress.attempts.at(-1)).toMatchObject({ verdict: 'refused', reason: 'response_malformed' });
  });

  it('counts in its whole size: a small answer that is large fills the bytes of the permit', async () => {
    expect((await ask('bomb', { maxBytes: 100_000 })).body.length).toBeLessThan(200_000);
    expect(egress.attempts.at(-1)).toMatchObject({ reason: 'budget_exceeded' });
  });

  it('is not asked for in parts, in which nobody would know it', async () => {
    await ask('identity', { more: ['Range: bytes=0-20', 'If-Range: "1"'] });
    expect(peer.seen.at(-1)?.headers).not.toHaveProperty('range');
    await ask('identity', { more: ['Range: bytes=0-20'], credential: false });
    expect(peer.seen.at(-1)?.headers.range).toBe('bytes=0-20');
  });

  it('asks for no body where there is none', async () => {
    expect(await ask('gzip', { method: 'HEAD' })).toMatchObject({ status: 200, body: '' });
  });

  it('without a credential every answer stays as it was packed', async () => {
    const { body } = await ask('gzip', { credential: false });
    expect(gunzipSync(Buffer.from(body, 'latin1')).toString()).toBe('{}');
  });
});
