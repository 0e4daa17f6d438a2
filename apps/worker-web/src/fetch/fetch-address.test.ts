import { FabricError } from '@toolfabric/kernel';
import type { EgressSession } from '@toolfabric/ports';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { directSession } from '../testing/direct-session.ts';
import { openSite, type Site } from '../testing/open-site.ts';
import { openDriver } from '../testing/web-fixture.ts';
import { fetchAddress } from './fetch-address.ts';

let site: Site;
const driver = openDriver({ limits: { redirects: 3, headMs: 300, bodyMs: 300 } });
beforeAll(async () => {
  site = await openSite();
});
afterEach(() => site.asked.splice(0));
afterAll(async () => {
  driver.close();
  await site.stop();
});

/** Lets through what a permit for one host would. */
const narrow = (...hosts: string[]): EgressSession => {
  const direct = directSession();
  return directSession({
    request: (asked) =>
      hosts.includes(asked.url.hostname)
        ? direct.request(asked)
        : Promise.reject(new FabricError('egress_refused', `host_not_permitted: not (${asked.url.host})`)),
  });
};
const fetch = (path: string, more: { method?: 'GET' | 'HEAD'; egress?: EgressSession; tenant?: string } = {}) =>
  fetchAddress(driver, {
    tenant: 'acme',
    egress: narrow('site.example'),
    method: 'GET',
    url: new URL(site.address(path)),
    signal: AbortSignal.timeout(10_000),
    ...more,
  });
const lead = (to: string, status = 302) => {
  site.answer = ({ url }, response) =>
    url === '/start' ? response.writeHead(status, { location: to }).end('moved') : response.end(`at ${url}`);
};

describe('WB-2: redirects', () => {
  it.each([301, 302, 303, 307, 308])('%i on the same host is followed, and told', async (status) => {
    lead('/end#part', status);
    const { address, hops, body } = await fetch('/start');
    expect({ address, hops, body: body.toString() }).toEqual({
      address: site.address('/end'),
      hops: [{ status, to: site.address('/end') }],
      body: 'at /end',
    });
  });

  it.each([
    ['another host', 'http://other.example/x', 'not_permitted', 'http://other.example/x'],
    ['this machine', 'http://127.0.0.1/x', 'not_permitted', 'http://127.0.0.1/x'],
    ['a file', 'file:///etc/passwd', 'not_http', 'file:///etc/passwd'],
    ['a script', 'javascript:alert(1)', 'not_http', 'javascript:alert(1)'],
    ['a user of another host', 'http://ann:secret@site.example/x', 'has_user', 'http://site.example/x'],
    ['nothing that is an address', 'http://', 'not_http', 'http://'],
  ])('one to %s is not followed: it is an answer that names its target', async (_what, to, why, target) => {
    lead(to);
    const { status, unfollowed, body, address, hops } = await fetch('/start');
    expect({ status, unfollowed, body: body.length, address, hops }).toEqual({
      status: 302,
      unfollowed: { to: target, why },
      body: 0,
      address: site.address('/start'),
      hops: [],
    });
    expect(site.asked).toHaveLength(1);
  });

  it('one to a host that the call may reach is followed', async () => {
    lead(site.address('/end', 'second.example'));
    const { address } = await fetch('/start', { egress: narrow('site.example', 'second.example') });
    expect(address).toBe(site.address('/end', 'second.example'));
    expect(site.asked.map(({ headers }) => headers['host'])).toEqual([
      `site.example:${site.port}`,
      `second.example:${site.port}`,
    ]);
  });

  it('a circle ends after so many', async () => {
    site.answer = (_request, response) => response.writeHead(302, { location: '/again' }).end();
    await expect(fetch('/start')).rejects.toMatchObject({ type: 'content_refused' });
    expect(site.asked).toHaveLength(4);
  });

  it('what the way out says about the first address is the end of the call', async () => {
    await expect(fetch('/start', { egress: narrow() })).rejects.toMatchObject({ type: 'egress_refused' });
  });

  it('a private address behind a permitted name is no matter of permits: the call ends', async () => {
    lead('/end');
    const direct = directSession();
    const rebound = directSession({
      request: (asked) =>
        asked.url.pathname === '/end'
          ? Promise.reject(new FabricError('egress_refused', 'address_not_permitted: no'))
          : direct.request(asked),
    });
    await expect(fetch('/start', { egress: rebound })).rejects.toMatchObject({
      type: 'egress_refused',
      message: expect.stringMatching(/^address_not_permitted:/),
    });
  });
});

describe('WB-2: answers', () => {
  it.each([204, 404, 410, 500, 503])('status %i is an answer', async (status) => {
    site.answer = (_request, response) => response.writeHead(status).end(status === 204 ? undefined : 'no');
    expect((await fetch('/x')).status).toBe(status);
  });

  it('HEAD asks for no body, and reads none', async () => {
    site.answer = (_request, response) => response.writeHead(200, { 'content-length': '12345' }).end();
    const { body, headers } = await fetch('/x', { method: 'HEAD' });
    expect({ bytes: body.length, declared: headers['content-length'], method: site.asked[0]?.method }).toEqual({
      bytes: 0,
      declared: '12345',
      method: 'HEAD',
    });
  });

  it.each<[string, Site['answer']]>([
    ['no head at all', () => {}],
    ['a body that drips without an end', (_request, response) => response.writeHead(200).write('x')],
    [
      'a body that is shorter than it says',
      (_request, response) => {
        response.writeHead(200, { 'content-length': '100' }).write('short');
        setImmediate(() => response.destroy());
      },
    ],
    ['a connection that breaks', (_request, response) => response.destroy()],
  ])('with %s it is the host that cannot be had', async (_what, answer) => {
    site.answer = answer;
    await expect(fetch('/x')).rejects.toMatchObject({ type: 'host_unreachable' });
  });

  it('whoever stops waiting hears their own reason', async () => {
    site.answer = (_request, response) => response.writeHead(200).write('x');
    const stop = new AbortController();
    const url = new URL(site.address('/x'));
    const begun = fetchAddress(driver, {
      tenant: 'acme',
      egress: directSession(),
      method: 'GET',
      url,
      signal: stop.signal,
    });
    const reason = new Error('cancelled');
    setTimeout(() => stop.abort(reason), 20);
    await expect(begun).rejects.toBe(reason);
  });
});

describe('WB-2: copies of earlier answers', () => {
  const withTag = (body: () => string, more: Record<string, string> = {}) => {
    site.answer = (request, response) => {
      const etag = `"${body()}"`;
      if (request.headers['if-none-match'] === etag) return void response.writeHead(304, { etag }).end();
      response.writeHead(200, { etag, ...more }).end(body());
    };
  };

  it('the other side is asked each time, and a copy that is still good is not sent again', async () => {
    withTag(() => 'one');
    await fetch('/tagged');
    const again = await fetch('/tagged');
    expect(again).toMatchObject({ status: 200, isRevalidated: true, receivedBytes: 0 });
    expect(again.body.toString()).toBe('one');
    expect(site.asked).toHaveLength(2);
  });

  it('one that changed is taken anew', async () => {
    let body = 'old';
    withTag(() => body);
    await fetch('/changing');
    body = 'new';
    expect((await fetch('/changing')).body.toString()).toBe('new');
    expect(await fetch('/changing')).toMatchObject({ isRevalidated: true });
  });

  it('of two tenants none meets the copy of the other', async () => {
    withTag(() => 'mine');
    await fetch('/private', { tenant: 'acme' });
    const other = await fetch('/private', { tenant: 'rival' });
    expect(other.isRevalidated).toBe(false);
    expect(site.asked.at(-1)?.headers['if-none-match']).toBeUndefined();
  });

  it.each([
    ['that it may not be kept', { 'cache-control': 'private, no-store' }],
    ['that it depends on everything', { vary: '*' }],
  ])('nothing is kept of an answer that says %s', async (_what, headers) => {
    withTag(() => 'secret', headers);
    await fetch('/fresh');
    await fetch('/fresh');
    expect(site.asked.at(-1)?.headers['if-none-match']).toBeUndefined();
  });

  it('a 304 that nobody asked for is told as it is', async () => {
    site.answer = (_request, response) => response.writeHead(304).end();
    expect(await fetch('/never')).toMatchObject({ status: 304, isRevalidated: false });
  });
});
