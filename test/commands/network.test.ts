import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import type { RequestListener, ServerResponse } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { HOST, type NetworkRig, openNetworkRig } from './network-rig.ts';

/** Answers that go on until somebody ends them. */
let flows = 0;
const REVOKED = '2969-0000000000000000000revoked';

const endless = (res: ServerResponse): void => {
  flows += 1;
  const timer = setInterval(() => res.write('x'.repeat(1_000)), 20);
  res.once('close', () => {
    clearInterval(timer);
    flows -= 1;
  });
};

const answer: RequestListener = (req, res) => {
  if (req.url === '/endless') return endless(res);
  let bytes = 0;
  req.on('data', (chunk: Buffer) => {
    bytes += chunk.length;
  });
  req.on('end', () => res.end(`${req.method} ${req.url} ${bytes}`));
};

/** An ordinary program that knows proxies, and says what it got. */
const FETCH = `
import { request } from 'node:http';
import { request as requestTls } from 'node:https';
const [address, method = 'GET', bytes = '0'] = process.argv.slice(2);
const url = new URL(address);
const proxy = new URL(process.env[url.protocol.slice(0, -1) + '_proxy']);
const near = { host: proxy.hostname, port: proxy.port };
const body = 'x'.repeat(Number(bytes));
const failed = (error) => console.log('failed', error.code ?? error.message);
const say = async (got) => {
  try {
    let text = '';
    for await (const chunk of got) text = (text + chunk).slice(0, 2000);
    console.log(got.statusCode, got.headers['toolfabric-egress'] ?? '', text);
  } catch (error) { failed(error); }
};
if (url.protocol === 'http:') {
  request({ ...near, method, path: address, headers: { host: url.host } }, say).on('error', failed).end(body);
} else {
  request({ ...near, method: 'CONNECT', path: url.hostname + ':' + (url.port || 443) }).on('error', failed).on('connect', (answer, socket) => {
    if (answer.statusCode !== 200) return say(Object.assign(socket, answer, { statusCode: answer.statusCode }));
    const own = { createConnection: undefined, socket, servername: url.hostname, agent: false };
    requestTls({ ...own, method, host: url.hostname, path: url.pathname }, say).on('error', failed).end(body);
  }).end();
}
`;

/** Every other way out that a program may think of. */
const TRIES = `
import { createSocket } from 'node:dgram';
import { lookup } from 'node:dns/promises';
import { spawnSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { connect } from 'node:net';
const code = (error) => error.code;
const reach = (host, port) => new Promise((done) =>
  connect({ host, port }).on('connect', () => done('connected')).on('error', (error) => done(error.code)));
const datagram = () => new Promise((end) => {
  const done = (code) => { socket.close(); end(code); };
  const socket = createSocket('udp4');
  socket.on('error', (error) => done(error.code));
  socket.connect(53, '9.9.9.9', (error) => error ? done(error.code) : socket.send('x', (failed) => done(failed?.code ?? 'sent')));
});
const port = Number(process.argv[2]);
const fds = readdirSync('/proc/self/fd').filter((fd) => Number(fd) > 2);
const shown = fds.flatMap((fd) => { try { return [readlinkSync('/proc/self/fd/' + fd)]; } catch { return []; } });
console.log(JSON.stringify({
  interfaces: readFileSync('/proc/net/dev', 'utf8').split('\\n').slice(2).map((line) => line.split(':')[0].trim()).filter(Boolean),
  lookup: await lookup('example.com').catch(code),
  getent: spawnSync('getent', ['hosts', 'example.com']).status,
  datagram: await datagram(),
  peer: await reach('127.0.0.1', port),
  peer6: await reach('::1', port),
  outside: await reach('93.184.216.34', 80),
  outside6: await reach('2606:4700::1111', 80),
  sockets: readFileSync('/proc/net/unix', 'utf8').split('\\n').slice(1).filter((line) => line.includes('egress')),
  descriptors: spawnSync('/bin/sh', ['-c', 'for fd in 3 4 5 6 7 8 9; do [ -e /proc/$$/fd/$fd ] && echo $fd; done']).stdout
    .toString().split('\\n').filter((fd) => fd !== ''),
}));
`;

/** Asks for what only a worker may ask, and with an authorization of its own. */
const OWN = `
import { request } from 'node:http';
const proxy = new URL(process.env.http_proxy);
const ask = (method, path, headers) => new Promise((done) => {
  const asked = request({ host: proxy.hostname, port: proxy.port, method, path, headers, agent: false }, (got) => {
    got.resume();
    console.log(got.statusCode, got.headers['toolfabric-egress']);
    done();
  });
  asked.on('error', (error) => done(console.log(error.code))).end();
});
await ask('POST', '/v1/permits', {});
await ask('DELETE', '/v1/permits', { authorization: 'Bearer x' });
await ask('OPTIONS', '*', {});
await ask('GET', 'http://other.example.com/', { host: 'other.example.com', 'Proxy-Authorization': 'Basic eDp5' });
`;

/** Comes again once its first connection is broken off. */
const LATER = `
import { request } from 'node:http';
const proxy = new URL(process.env.http_proxy);
const ask = (path) => new Promise((done) => {
  const asked = request({ host: proxy.hostname, port: proxy.port, path, agent: false, headers: { host: new URL(path).host } }, (got) => {
    got.resume().on('error', (error) => done(error.code)).on('end', () => done(got.statusCode));
  });
  asked.on('error', (error) => done(error.code)).end();
});
console.log(await ask('PLAIN/endless'));
console.log(await ask('http://packages.example.com/'));
`;

/** All that a program can see of itself and of its parents. */
const SECRETS = `
import { readdirSync, readFileSync } from 'node:fs';
for (const pid of readdirSync('/proc').filter((name) => /^[0-9]+$/.test(name)))
  for (const part of ['environ', 'cmdline'])
    try { console.log(readFileSync('/proc/' + pid + '/' + part, 'utf8').replaceAll('\\0', '\\n')); } catch {}
`;

const TRUSTS = `
import { readFileSync } from 'node:fs';
process.stdout.write(String(readFileSync(process.env.SSL_CERT_FILE, 'utf8').split('BEGIN CERTIFICATE').length - 1));
`;

describe('a command with a network', () => {
  const folder = mkdtempSync(join(tmpdir(), 'command-network-'));
  let rig: NetworkRig;
  beforeAll(async () => {
    rig = await openNetworkRig(answer, (pem) => {
      const file = join(folder, 'ca.pem');
      writeFileSync(file, pem);
      return file;
    });
    await rig.put('fetch.mjs', FETCH);
    await rig.put('secrets.mjs', SECRETS);
  });
  afterAll(async () => {
    await rig.stop();
    rmSync(folder, { recursive: true, force: true });
  });

  it('CL-6: reaches the hosts of its permit, in plain text and over TLS', async () => {
    const plain = await rig.run(['node', 'fetch.mjs', `${rig.plain}/a`], rig.session([rig.rules.plain]));
    expect(plain.data).toMatchObject({ exit_code: 0, survivors: 0, stdout: { text: '200  GET /a 0\n' } });
    const post = await rig.run(
      ['node', 'fetch.mjs', `${rig.secure}/b`, 'POST', '300000'],
      rig.session([rig.rules.read]),
    );
    expect(post.data.stdout.text).toBe('200  POST /b 300000\n');
  });

  const text = async (...[argv, way, more, args]: Parameters<NetworkRig['run']>) =>
    (await rig.run(argv, way, more, args)).data.stdout.text;

  it('CL-6: names what the egress refused, with the reason, in summary and data', async () => {
    const { outcome, data } = await rig.run(
      ['node', 'fetch.mjs', 'http://other.example.com/'],
      rig.session([rig.rules.plain]),
    );
    expect(data.stdout.text).toMatch(/^403 host_not_permitted /);
    expect(data.network?.refused).toMatchObject([
      { host: 'other.example.com', reason: 'host_not_permitted', times: 1 },
    ]);
    expect(outcome.summary).toContain('The egress refused other.example.com (host_not_permitted)');
    const tunnel = await rig.run(['node', 'fetch.mjs', 'https://other.example.com/'], rig.session([rig.rules.plain]));
    expect(tunnel.data.network?.refused).toMatchObject([
      { host: 'other.example.com:443', reason: 'host_not_permitted' },
    ]);
    const method = await rig.run(['node', 'fetch.mjs', `${rig.secure}/x`, 'PUT'], rig.session([rig.rules.read]));
    expect(method.data.stdout.text).toMatch(/^403 method_not_permitted /);
  });

  it('CL-6: has no resolver, no datagrams and no other route, whatever it tries', async () => {
    await rig.put('tries.mjs', TRIES);
    const port = rig.plain.split(':').at(-1) ?? '';
    const { data } = await rig.run(['node', 'tries.mjs', port], rig.session([rig.rules.plain]));
    expect(data.exit_code).toBe(0);
    expect(JSON.parse(data.stdout.text)).toEqual({
      interfaces: ['lo'],
      lookup: 'ENOTFOUND',
      getent: 2,
      datagram: 'ENETUNREACH',
      peer: 'ECONNREFUSED',
      peer6: expect.stringMatching(/^E(CONNREFUSED|ADDRNOTAVAIL)$/),
      outside: 'ENETUNREACH',
      outside6: expect.stringMatching(/^E(NETUNREACH|ADDRNOTAVAIL)$/),
      sockets: [],
      descriptors: [],
    });
  });

  it('CL-6: never holds the token of its permit, and the token is void after the call', async () => {
    const said = await rig.run(['node', 'secrets.mjs'], rig.session([rig.rules.plain]));
    expect(said.data.stdout.text).toContain('http_proxy=http://127.0.0.1:3128');
    const [token = 'none'] = rig.tokens.slice(-1);
    for (const form of [token, Buffer.from(`call:${token}`).toString('base64')])
      expect(JSON.stringify(said.outcome)).not.toContain(form);
    expect((await rig.egress.tunnel(`${HOST}:443`, token)).refused?.reason).toBe('permit_closed');
  });

  it('CL-6: trusts the authority of the installation only where its exchange is read', async () => {
    const trusted = async (rule: keyof NetworkRig['rules']) =>
      text(['node', 'trusts.mjs'], rig.session([rig.rules[rule]]));
    await rig.put('trusts.mjs', TRUSTS);
    const [passed, read] = [await trusted('passed'), await trusted('read')];
    expect(Number(read)).toBe(Number(passed) + 1);
    expect(Number(passed)).toBeGreaterThan(10);
  });

  it('CL-6: without a permit there is no network, and a call that asked for one does not run', async () => {
    const env = await text(['node', 'secrets.mjs'], undefined);
    expect(env).not.toMatch(/^\w*(proxy|CHANNEL|CERT)\w*=/im);
    const asked = await rig.run(['touch', 'ran.txt'], undefined, {}, { network: { hosts: [HOST] } });
    expect(asked.outcome).toMatchObject({ status: 'error', error: { type: 'egress_refused' }, sideEffect: 'none' });
    expect(await text(['ls'], undefined)).not.toContain('ran.txt');
    const expired = await rig.run(['touch', 'ran.txt'], rig.session([rig.rules.plain], { expires: 1 }));
    expect(expired.outcome).toMatchObject({ status: 'error', error: { type: 'egress_refused' } });
    expect(await text(['ls'], undefined)).not.toContain('ran.txt');
  });

  it('CL-6: cannot speak with the egress itself, and shows no permit of its own', async () => {
    await rig.put('own.mjs', OWN);
    const { data } = await rig.run(['node', 'own.mjs'], rig.session([rig.rules.plain]));
    expect(data.stdout.text.split('\n').slice(0, 4)).toEqual([
      '400 target_malformed',
      '400 target_malformed',
      '400 target_malformed',
      '403 host_not_permitted',
    ]);
  });

  it('CL-6: a revoked permit breaks off what flows, and the program sees it', async () => {
    const way = rig.session([rig.rules.plain], { callId: REVOKED });
    const running = rig.run(['node', 'fetch.mjs', `${rig.plain}/endless`], way);
    await expect.poll(() => flows, { timeout: 20_000 }).toBe(1);
    await rig.egress.revoke({ callId: REVOKED, epoch: 1 });
    const { data } = await running;
    expect(data).toMatchObject({ exit_code: 0, stdout: { text: expect.stringMatching(/^failed ECONNRESET/) } });
    await expect.poll(() => flows, { timeout: 20_000 }).toBe(0);
  });

  it('CL-6: a cancelled call leaves no connection behind, and none outlives it', async () => {
    const stop = new AbortController();
    const running = rig.run(['node', 'fetch.mjs', `${rig.plain}/endless`], rig.session([rig.rules.plain]), {
      signal: stop.signal,
    });
    await expect.poll(() => flows, { timeout: 20_000 }).toBe(1);
    stop.abort();
    expect((await running).outcome.status).toBe('error');
    await expect.poll(() => flows, { timeout: 20_000 }).toBe(0);
  });

  it('CL-6: an egress that goes away breaks off what flows, and says so to what comes later', async () => {
    await rig.put('later.mjs', LATER.replace('PLAIN', rig.plain));
    const later = rig.run(['node', 'later.mjs'], rig.session([rig.rules.plain]));
    await expect.poll(() => flows, { timeout: 20_000 }).toBe(1);
    await rig.egress.stop();
    const { data } = await later;
    expect(data.stdout.text).toBe('ECONNRESET\n502\n');
    expect(data.network?.refused).toMatchObject([{ host: HOST, reason: 'egress_unavailable', times: 1 }]);
    await expect.poll(() => flows, { timeout: 20_000 }).toBe(0);
    const none = await rig.run(['touch', 'ran.txt'], rig.session([rig.rules.plain]));
    expect(none.outcome).toMatchObject({ status: 'error', error: { type: 'egress_unavailable' } });
    expect(await text(['ls'], undefined)).not.toContain('ran.txt');
  });
});
