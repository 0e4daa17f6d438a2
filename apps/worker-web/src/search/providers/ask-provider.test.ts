import type { IncomingMessage, ServerResponse } from 'node:http';
import { gzipSync } from 'node:zlib';
import type { RemoteProvider } from '@toolfabric/contract';
import { FabricError } from '@toolfabric/kernel';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { directSession } from '../../testing/direct-session.ts';
import { openSite, type Site } from '../../testing/open-site.ts';
import { parseQuery } from '../query/parse-query.ts';
import { askProvider, type ProviderDoor } from './ask-provider.ts';
import type { Asked } from './web-provider.ts';

const NOW = Date.parse('2026-03-01');
let site: Site;
beforeAll(async () => {
  site = await openSite();
});
afterEach(() => site.asked.splice(0));
afterAll(() => site.stop());

const provider = (kind: RemoteProvider['kind'], more: object = {}): RemoteProvider =>
  ({ kind, base: site.address('', `${kind}.example`), timeout_ms: 5_000, ...more }) as RemoteProvider;
const ask = (
  kind: RemoteProvider['kind'],
  asked: Partial<Asked> = {},
  more: object = {},
  door: Partial<ProviderDoor> = {},
) =>
  askProvider(
    {
      egress: directSession(),
      agent: 'Toolfabric/0.1',
      signal: new AbortController().signal,
      now: () => NOW,
      ...door,
    },
    provider(kind, more),
    { query: parseQuery('retry "dead letter" -spam'), count: 20, ...asked },
  );
const reply = (body: unknown, status = 200, headers: Record<string, string> = {}) => {
  const text = typeof body === 'string' ? body : JSON.stringify(body);
  site.answer = (_request, response) =>
    response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(text);
};
const parameters = () => Object.fromEntries(new URL(site.address(site.asked[0]?.path ?? '')).searchParams);

const bodyOf = async (request: IncomingMessage): Promise<unknown> => {
  const parts: Buffer[] = [];
  for await (const part of request) parts.push(part);
  return JSON.parse(Buffer.concat(parts).toString());
};

describe('WB-1: providers by their documented shapes', () => {
  it('SearXNG', async () => {
    reply({
      query: 'x',
      number_of_results: 0,
      results: [
        {
          url: 'https://a.example/',
          title: 'A',
          content: 'about a',
          engine: 'e',
          publishedDate: '2026-02-03T04:05:06',
        },
        { url: 'javascript:alert(1)', title: 'B' },
        { url: 'https://ann:pw@b.example/', title: 'C' },
        { url: 'https://c.example/', title: null, content: 7, publishedDate: 'soon' },
      ],
      answers: [],
      unresponsive_engines: [['brave', 'Suspended: too many requests'], ['google', 'CAPTCHA'], 'odd'],
    });
    const answer = await ask('searxng', { language: 'de' });
    expect(answer).toMatchObject({ state: 'ok', unusable: 2 });
    expect(answer.failedEngines).toEqual({ rate_limited: 1, blocked: 1, unreachable: 1 });
    expect(answer.found).toEqual([
      {
        address: 'https://a.example/',
        title: 'A',
        description: 'about a',
        published: Date.parse('2026-02-03T04:05:06'),
      },
      { address: 'https://c.example/', title: '', description: '' },
    ]);
    expect(site.asked[0]).toMatchObject({ method: 'GET', headers: { host: `searxng.example:${site.port}` } });
    expect(parameters()).toEqual({ q: 'retry "dead letter" -spam', format: 'json', language: 'de' });
  });

  it('SearXNG: what would choose another engine, or leave for another site, is a word', async () => {
    reply({ results: [] });
    await ask('searxng', { query: parseQuery('!!elsewhere !images :fr plain "!kept as it is"') });
    expect(parameters()['q']).toBe('elsewhere images fr plain "!kept as it is"');
  });

  it.each(['searxng', 'tavily', 'brave'] as const)(
    '%s: of a list without an end the first are looked at',
    async (kind) => {
      const row = { url: 'https://a.example/', title: 7 };
      const results = [...Array.from({ length: 60 }, (_, n) => ({ ...row, url: `${row.url}${n}` })), 'broken', 7, null];
      reply(kind === 'brave' ? { type: 'search', web: { results } } : { results });
      expect(await ask(kind)).toMatchObject({ state: 'ok', found: { length: 50 } });
    },
  );

  it('Brave Search', async () => {
    reply({
      type: 'search',
      query: { original: 'x', more_results_available: false },
      web: {
        type: 'search',
        results: [
          {
            title: 'A &amp; B',
            url: 'https://a.example/',
            description: 'with <strong>marks</strong>',
            page_age: '2026-01-02T00:00:00',
          },
        ],
      },
    });
    const { state, found } = await ask('brave', { after: '2026-01-01', language: 'pt-BR' });
    expect({ state, ...found[0] }).toMatchObject({ state: 'ok', title: 'A & B', description: 'with marks' });
    expect(site.asked[0]?.path).toMatch(/^\/res\/v1\/web\/search\?/);
    expect(parameters()).toEqual({
      q: 'retry "dead letter" -spam',
      count: '20',
      freshness: '2026-01-01to2100-01-01',
      search_lang: 'pt',
    });
    reply({ type: 'search', query: {} });
    expect((await ask('brave')).state).toBe('empty');
  });

  it('Tavily', async () => {
    let body: unknown;
    site.answer = (request: IncomingMessage, response: ServerResponse) => {
      void bodyOf(request).then((read) => {
        body = read;
        response.end(
          JSON.stringify({
            query: 'x',
            results: [{ url: 'https://a.example/', title: 'A', content: 'c', score: 0.9 }],
          }),
        );
      });
    };
    const query = parseQuery('retry site:a.example -site:b.example');
    expect(await ask('tavily', { query, before: '2026-02-01' })).toMatchObject({
      state: 'ok',
      found: [{ title: 'A' }],
    });
    expect(site.asked[0]).toMatchObject({ method: 'POST', path: '/search' });
    expect(body).toEqual({
      query: 'retry',
      search_depth: 'basic',
      max_results: 20,
      include_domains: ['a.example'],
      exclude_domains: ['b.example'],
      end_date: '2026-02-01',
    });
  });

  it('a base with a path is kept, and an answer may be encoded', async () => {
    const zipped = gzipSync(JSON.stringify({ results: [] }));
    site.answer = (_request, response) => response.writeHead(200, { 'content-encoding': 'gzip' }).end(zipped);
    expect((await ask('searxng', {}, { base: site.address('/find/') })).state).toBe('empty');
    expect(site.asked[0]?.path).toMatch(/^\/find\/search\?/);
  });
});

describe('WB-3: whoever does not answer is told by what became of it, and never as "no results"', () => {
  it.each<[string, string, unknown, number, Record<string, string>, object]>([
    [
      'engines that are all blocked',
      'searxng',
      { results: [], unresponsive_engines: [['g', 'CAPTCHA']] },
      200,
      {},
      { state: 'blocked' },
    ],
    [
      'engines that are suspended',
      'searxng',
      {
        results: [],
        unresponsive_engines: [
          ['g', 'Suspended: too many requests'],
          ['h', 'timeout'],
        ],
      },
      200,
      {},
      { state: 'rate_limited' },
    ],
    [
      'engines that are slow',
      'searxng',
      { results: [], unresponsive_engines: [['g', 'timeout']] },
      200,
      {},
      { state: 'timeout' },
    ],
    ['JSON that is switched off', 'searxng', '<html>403 Forbidden</html>', 403, {}, { state: 'blocked' }],
    [
      'a page that asks who is there',
      'searxng',
      '<html><body>Please solve this CAPTCHA',
      200,
      { 'content-type': 'text/html' },
      { state: 'blocked' },
    ],
    [
      'a challenge as an error',
      'brave',
      '<html><script src="/cdn-cgi/challenge-platform/x">',
      503,
      {},
      { state: 'unreachable' },
    ],
    ['a way to another page', 'searxng', '', 302, { location: 'https://sorry.example/' }, { state: 'blocked' }],
    [
      'too many questions',
      'brave',
      { error: 'x' },
      429,
      { 'retry-after': '17' },
      { state: 'rate_limited', retryAfterMs: 17_000 },
    ],
    [
      'too many, until a time',
      'brave',
      {},
      429,
      { 'retry-after': 'Sun, 01 Mar 2026 00:00:30 GMT' },
      { state: 'rate_limited', retryAfterMs: 30_000 },
    ],
    ['a plan that is used up', 'tavily', { detail: {} }, 432, {}, { state: 'rate_limited' }],
    ['a key that is refused', 'tavily', { detail: { error: 'Unauthorized' } }, 401, {}, { state: 'auth' }],
    ['a key that is no key', 'brave', { error: { code: 'SUBSCRIPTION_TOKEN_INVALID' } }, 422, {}, { state: 'auth' }],
    ['a key without the right', 'brave', { error: {} }, 403, {}, { state: 'auth' }],
    ['a question that is not taken', 'brave', { error: { code: 'VALIDATION' } }, 422, {}, { state: 'malformed' }],
    ['half an answer', 'brave', '{"type": "search", "web": {"resul', 200, {}, { state: 'malformed' }],
    ['another shape', 'tavily', { answer: 'x' }, 200, {}, { state: 'malformed' }],
    ['a list', 'searxng', [], 200, {}, { state: 'malformed' }],
    [
      'results without an address',
      'tavily',
      { results: [{ title: 'x' }, { url: 'ftp://x.example/' }] },
      200,
      {},
      { state: 'malformed' },
    ],
    ['a body of another encoding', 'brave', 'x', 200, { 'content-encoding': 'gzip' }, { state: 'malformed' }],
    ['an error of its own', 'tavily', {}, 500, {}, { state: 'unreachable' }],
  ])('%s (%s)', async (_, kind, body, status, headers, expected) => {
    reply(body, status, headers);
    const answer = await ask(kind as RemoteProvider['kind']);
    expect(answer).toMatchObject({ ...expected, found: [] });
    expect(answer.why).toBeTruthy();
  });

  it('an answer without an end', async () => {
    site.answer = (_request, response) => {
      const more = () => {
        while (!response.destroyed && response.write('[1,'.repeat(20_000)));
        if (!response.destroyed) response.once('drain', more);
      };
      more();
    };
    expect(await ask('searxng')).toMatchObject({ state: 'malformed', why: expect.stringContaining('longer than') });
  });

  it('no answer at all, and half of one, in its time', async () => {
    site.answer = () => {};
    expect(await ask('brave', {}, { timeout_ms: 100 })).toMatchObject({ state: 'timeout' });
    site.answer = (_request, response) => response.writeHead(200).write('{');
    expect(await ask('brave', {}, { timeout_ms: 100 })).toMatchObject({ state: 'timeout' });
  });

  it('a connection that breaks before and in the middle of the answer', async () => {
    site.answer = (request) => request.socket.destroy();
    expect(await ask('brave')).toMatchObject({ state: 'unreachable' });
    site.answer = (_request, response) => {
      response.writeHead(200, { 'content-length': '1000' }).write('{');
      setImmediate(() => response.destroy());
    };
    expect(await ask('brave')).toMatchObject({ state: 'unreachable' });
  });

  it.each([
    ['egress_refused', 'refused'],
    ['egress_unavailable', 'unreachable'],
    ['host_unreachable', 'unreachable'],
    ['credential_missing', 'auth'],
    ['login_required', 'auth'],
  ] as const)('what the way out says: %s', async (type, state) => {
    const egress = directSession({ request: () => Promise.reject(new FabricError(type, 'host_not_permitted: x')) });
    expect(await ask('brave', {}, {}, { egress })).toMatchObject({ state });
  });

  it('without a way out it is not set up; a fault of ours, and a cancelled call, stay what they are', async () => {
    expect(await ask('brave', {}, {}, { egress: undefined })).toMatchObject({ state: 'unconfigured' });
    const egress = directSession({ request: () => Promise.reject(new TypeError('a fault')) });
    await expect(ask('brave', {}, {}, { egress })).rejects.toThrow('a fault');
    const signal = AbortSignal.abort(new Error('cancelled'));
    await expect(ask('brave', {}, {}, { signal })).rejects.toThrow('cancelled');
  });
});
