import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { FabricError } from '@toolfabric/kernel';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { directSession } from '../testing/direct-session.ts';
import { RobotsBook } from './robots-book.ts';

type Answer = (request: IncomingMessage, response: ServerResponse) => void;

let server: Server;
let answer: Answer;
const asked: string[] = [];
let now = 0;

beforeAll(async () => {
  server = createServer((request, response) => {
    asked.push(request.url ?? '');
    answer(request, response);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
});
afterEach(() => asked.splice(0));
afterAll(async () => {
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
});

const door = directSession();
const site = () => `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
const text =
  (body: string): Answer =>
  (_request, response) =>
    response.end(body);
const status =
  (code: number): Answer =>
  (_request, response) =>
    response.writeHead(code).end('no');
const book = () => new RobotsBook('Toolfabric', () => now);
const check = (robots: RobotsBook, path: string, through = door, tenant = 'acme') =>
  robots.check({ egress: through, tenant }, new URL(path, site()), AbortSignal.timeout(5_000));
const DENIED = expect.objectContaining({ type: 'denied_by_robots' });

describe('WB-2: what a site says about programs', () => {
  it('its own group counts before that of everybody, and the longest rule', async () => {
    answer = text('User-agent: *\nDisallow: /\n\nUser-agent: toolfabric\nDisallow: /private\nAllow: /private/open\n');
    const robots = book();
    await expect(check(robots, '/a')).resolves.toBeUndefined();
    await expect(check(robots, '/private/a')).rejects.toEqual(DENIED);
    await expect(check(robots, '/private/open/a')).resolves.toBeUndefined();
    expect(asked).toEqual(['/robots.txt']);
  });

  it.each([404, 401, 403, 410])('with %i there are no rules, and everything is allowed', async (code) => {
    answer = status(code);
    await expect(check(book(), '/a')).resolves.toBeUndefined();
  });

  it.each([500, 503, 429])('with %i nothing is allowed for a while, and then it is asked again', async (code) => {
    answer = status(code);
    const robots = book();
    await expect(check(robots, '/a')).rejects.toEqual(DENIED);
    answer = text('User-agent: *\nAllow: /');
    await expect(check(robots, '/a')).rejects.toThrow('could not be read, which counts as a no');
    now += 60_001;
    await expect(check(robots, '/a')).resolves.toBeUndefined();
    expect(asked).toHaveLength(2);
  });

  it('a connection that breaks allows nothing', async () => {
    answer = (_request, response) => response.destroy();
    await expect(check(book(), '/a')).rejects.toEqual(DENIED);
  });

  it('a host that is not there is told as that, and asked again', async () => {
    let isThere = false;
    const away = directSession({
      request: (request) =>
        isThere ? door.request(request) : Promise.reject(new FabricError('host_unreachable', 'no such host')),
    });
    const robots = book();
    await expect(check(robots, '/a', away)).rejects.toMatchObject({ type: 'host_unreachable' });
    isThere = true;
    answer = text('');
    await expect(check(robots, '/a', away)).resolves.toBeUndefined();
  });

  it('five redirects are followed, a sixth is taken for no rules', async () => {
    answer = ({ url }, response) => {
      const hop = Number(url?.match(/\d+/)?.[0] ?? 0);
      if (hop === 5) response.end('User-agent: *\nDisallow: /');
      else response.writeHead(302, { location: `/hop-${hop + 1}` }).end();
    };
    await expect(check(book(), '/a')).rejects.toEqual(DENIED);
    answer = (_request, response) => response.writeHead(302, { location: '/again' }).end();
    await expect(check(book(), '/a')).resolves.toBeUndefined();
    expect(asked).toHaveLength(12);
  });

  it('rules are kept for an hour', async () => {
    answer = text('User-agent: *\nAllow: /');
    const robots = book();
    await check(robots, '/a');
    now += 3_600_001;
    await check(robots, '/a');
    expect(asked).toHaveLength(2);
  });

  it('of two tenants each asks for itself', async () => {
    answer = text('User-agent: *\nAllow: /');
    const robots = book();
    await check(robots, '/a');
    await check(robots, '/a', door, 'rival');
    expect(asked).toHaveLength(2);
  });

  it('rules that stand on a host which the call may not reach are none', async () => {
    answer = (_request, response) => response.writeHead(301, { location: 'http://elsewhere.example/robots.txt' }).end();
    const narrow = directSession({
      request: (request) =>
        request.url.hostname === 'elsewhere.example'
          ? Promise.reject(new FabricError('egress_refused', 'host_not_permitted: not through here'))
          : door.request(request),
    });
    await expect(check(book(), '/a', narrow)).resolves.toBeUndefined();
  });

  it('a file that goes on and on is read for so long and no longer', async () => {
    answer = (_request, response) => {
      response.write('User-agent: *\nDisallow: /no\n');
      const more = setInterval(() => response.write('#'.repeat(65_536)), 1);
      response.once('close', () => clearInterval(more));
    };
    const robots = book();
    await expect(check(robots, '/no')).rejects.toEqual(DENIED);
    await expect(check(robots, '/yes')).resolves.toBeUndefined();
  });

  it('what the door refuses is told as that', async () => {
    const shut = directSession({ request: () => Promise.reject(new FabricError('forbidden', 'not through here')) });
    await expect(check(book(), '/a', shut)).rejects.toMatchObject({ type: 'forbidden' });
  });

  it('who does not want it any more hears that, and nothing is kept of it', async () => {
    answer = () => {};
    const robots = book();
    const reason = new Error('too late');
    const stopping = new AbortController();
    const checking = robots.check({ egress: door, tenant: 'acme' }, new URL('/a', site()), stopping.signal);
    setTimeout(() => stopping.abort(reason), 20);
    await expect(checking).rejects.toBe(reason);
    answer = text('');
    await expect(check(robots, '/a')).resolves.toBeUndefined();
  });
});

describe('WB-2: a robots.txt that is meant to hurt', () => {
  it('of wildcards beyond number forbids what begins like them', async () => {
    answer = text(`User-agent: *\n${`Disallow: /a${'*a'.repeat(20)}b\n`.repeat(10_000)}`);
    const robots = book();
    await expect(check(robots, `/a${'a'.repeat(1_900)}`)).rejects.toEqual(DENIED);
    await expect(check(robots, '/b')).resolves.toBeUndefined();
  });

  it('of thousands of names for thousands of rules is asked all the same', async () => {
    const names = Array.from({ length: 18_000 }, (_, i) => `User-agent: x${i}\n`).join('');
    answer = text(`${names}${'Disallow: /\n'.repeat(20_000)}`);
    await expect(check(book(), '/a')).resolves.toBeUndefined();
  });

  it('takes the place of what is older', async () => {
    answer = text(`User-agent: *\n${'Disallow: /a\n'.repeat(5_000)}`);
    const robots = book();
    for (let tenant = 0; tenant < 40; tenant += 1) await check(robots, '/b', door, `tenant-${tenant}`);
    expect(robots.sites).toBeGreaterThan(20);
    expect(robots.sites).toBeLessThan(40);
  });
});
