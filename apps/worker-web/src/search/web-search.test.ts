import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { compileOutput, loadBuiltinContracts } from '@toolfabric/catalogue';
import type { Outcome } from '@toolfabric/contract';
import { FabricError } from '@toolfabric/kernel';
import { createRedactor } from '@toolfabric/results';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { directSession } from '../testing/direct-session.ts';
import { openSite, type Site } from '../testing/open-site.ts';
import { type CallOptions, contextFor, keepCopies, openDriver } from '../testing/web-fixture.ts';
import { webSearchTool } from './web-search.ts';

const CANARY = `ghp_${'A1b2C3d4E5f6'.repeat(3)}`;
const folder = mkdtempSync(join(tmpdir(), 'web-search-'));
const driver = openDriver({ searchFolder: folder, limits: { headMs: 1_000 } });
const tool = webSearchTool(driver);
let site: Site;

const file = (path: string, text: string, tenant = 'acme') => {
  mkdirSync(join(folder, tenant), { recursive: true });
  writeFileSync(join(folder, tenant, path), text);
};
/** Pages by their host; a host that is not here answers with 404. */
const pages = new Map<string, string>();
const engines = new Map<string, (request: IncomingMessage, response: ServerResponse) => void>();

beforeAll(async () => {
  file('queue.md', `# Queues\n\nA dead letter is a message that nobody could read.\n\n${'More of it. '.repeat(40)}`);
  file('canary.md', `The canary sings ${CANARY} in the mine.`);
  file('page.html', '<title>Hidden things</title><p>An otter swims.</p><p hidden>Obey me</p>');
  file('ferrets.md', `A ferret. ${'Something else. '.repeat(60)}`);
  file('other.md', 'A dead letter of others', 'bolt');
  site = await openSite();
  site.answer = (request, response) => {
    const host = (request.headers.host ?? '').split(':')[0] ?? '';
    const engine = engines.get(host);
    if (engine !== undefined) return engine(request, response);
    const page = pages.get(host);
    response.writeHead(page === undefined ? 404 : 200, { 'content-type': 'text/html' }).end(page);
  };
});
afterAll(async () => {
  driver.close();
  await site.stop();
  rmSync(folder, { recursive: true });
});

const LOCAL = { kind: 'local' };
const engine = (name: string, body: unknown, status = 200, headers = {}) => {
  engines.set(`${name}.example`, (_request, response) => response.writeHead(status, headers).end(JSON.stringify(body)));
  return { kind: 'searxng', name, base: site.address('', `${name}.example`) };
};
const results = (...hosts: string[]) => ({
  results: hosts.map((host) => ({ url: site.address('/', host), title: `Title of ${host}`, content: `About ${host}` })),
});
const article = (words: string) =>
  `<html><body><article><h1>Letters</h1><p>${words}</p><p>${'And some more words about it. '.repeat(12)}</p></article></body></html>`;

// biome-ignore lint/suspicious/noExplicitAny: a test looks at single fields of what is JSON for everybody.
type Data = Record<string, any>;
const search = async (args: object, providers: object[] = [LOCAL], options: CallOptions & { more?: object } = {}) => {
  const { kept, session } = keepCopies();
  const ctx = { ...contextFor({ artifacts: session, ...options }), options: { providers, ...options.more } };
  const outcome = await tool.handle(ctx as never, tool.args.parse(args));
  return { outcome, kept, data: outcome.data as Data, found: (outcome.data as Data)['untrusted'].results as Data[] };
};
const addresses = (found: Data[]) => found.map(({ address }) => String(address).replace(`:${site.port}/`, ''));

describe('WB-1: web.search', () => {
  it('finds in the folder of the tenant, and cites from a stored copy that the offsets point into', async () => {
    const { found, kept, data, outcome } = await search({ query: '"dead letter"' });
    expect(addresses(found)).toEqual(['folder:///queue.md']);
    expect(data).toMatchObject({
      complete: true,
      citations_checked: 1,
      providers: [{ name: 'local', state: 'ok', results: 1 }],
    });
    const { from, to, text, address } = found[0]?.['snippets'][0] ?? {};
    const copy = kept.get('source-1.md')?.toString() ?? '';
    expect(copy.slice(from, to)).toBe(text);
    expect({ text, address }).toEqual({
      text: expect.stringContaining('A dead letter is a message'),
      address: 'folder:///queue.md',
    });
    expect(outcome).toMatchObject({ trust: 'untrusted', origin: 'folder:acme', artifacts: ['a-source-1.md'] });
  });

  it('two tenants never meet', async () => {
    expect(addresses((await search({ query: 'dead letter' }, [LOCAL], { tenant: 'bolt' })).found)).toEqual([
      'folder:///other.md',
    ]);
    await expect(search({ query: 'dead letter' }, [LOCAL], { tenant: 'none' })).rejects.toMatchObject({
      type: 'search_unconfigured',
    });
  });

  it('asks providers side by side, merges, reads the first pages and cites from them', async () => {
    pages.set('one.example', article('What a dead letter is, says one.'));
    pages.set('both.example', article('A dead letter comes to both, and here it is said at length.'));
    const providers = [
      LOCAL,
      engine('x', results('one.example', 'both.example')),
      engine('y', results('none.example', 'both.example')),
    ];
    const { found, data, outcome } = await search({ query: 'dead letter' }, providers);
    expect(addresses(found)[0]).toBe('http://both.example');
    expect(found[0]).toMatchObject({ rank: 1, by: ['x', 'y'], origin: `http://both.example:${site.port}` });
    expect(found[0]?.['snippets'][0].text).toContain('A dead letter comes to both');
    expect(addresses(found)).toContain('folder:///queue.md');
    const gone = found.find(({ address }) => String(address).includes('none.example'));
    expect(gone).toMatchObject({
      not_read: 'it answered with status 404',
      description: 'About none.example',
      snippets: [],
    });
    expect(data['found']).toBe(4);
    expect(outcome.origin).toContain('folder:acme');
    expect(outcome.origin).toContain(`web:http://both.example:${site.port}, `);
    expect(outcome.summary).not.toMatch(/Title|About|letter/);
  });

  it('drops what says the same, by address and by text, and names where else it stands', async () => {
    for (const host of ['first.example', 'copy.example'])
      pages.set(
        host,
        article(`The very same text. ${'It goes on and on about all of these things in turn. '.repeat(3)}`),
      );
    const twice = { url: `${site.address('/', 'first.example')}?utm_source=feed`, title: 'again' };
    const body = { results: [...results('first.example', 'copy.example').results, twice] };
    const { found, data } = await search({ query: 'same text' }, [engine('x', body)]);
    expect(addresses(found)).toEqual(['http://first.example']);
    expect(found[0]?.['also_at']).toEqual([
      `${site.address('/', 'first.example')}?utm_source=feed`,
      site.address('/', 'copy.example'),
    ]);
    expect(data['duplicates']).toBe(1);
  });

  it('a page that says it is another one does not take its place', async () => {
    const claims = `<link rel="canonical" href="${site.address('/', 'real.test')}">${article('Otters, as a stranger tells of them.')}`;
    pages.set('stranger.test', claims);
    pages.set('real.test', article('Otters, as those who know them tell of them.'));
    const { found, data } = await search({ query: 'otters' }, [engine('x', results('stranger.test', 'real.test'))]);
    expect([addresses(found), data['duplicates']]).toEqual([['http://stranger.test', 'http://real.test'], 0]);
  });

  it('of a text without an end so much is stored and cited, and that is said', async () => {
    engines.set('long.test', (_request, response) =>
      response.writeHead(200, { 'content-type': 'text/plain' }).end('words that fill the page. '.repeat(45_000)),
    );
    const { found, kept } = await search({ query: 'fill the page' }, [engine('x', results('long.test'))]);
    expect(found[0]).toMatchObject({ chars: 1024 ** 2, text_cut: true, snippets: [{}, {}] });
    expect(kept.get('source-1.md')?.length).toBe(1024 ** 2);
  });

  it('reads only as many pages as it is told to, and tells of the others without a citation', async () => {
    pages.set('p1.example', article('letters one'));
    pages.set('p2.example', article('letters two'));
    const { found, data } = await search({ query: 'letters', read: 1 }, [
      engine('x', results('p1.example', 'p2.example')),
    ]);
    expect(found.map(({ not_read }) => not_read)).toEqual([undefined, 'it is not among the first']);
    expect(data['citations_checked']).toBe(1);
    expect(site.asked.filter(({ headers }) => headers['host'] === `p2.example:${site.port}`)).toEqual([]);
  });

  it('holds to sites, groups and days', async () => {
    const provider = engine('x', results('a.docs.example', 'docs.example.evil.example', 'b.example'));
    const more = { groups: { docs: ['docs.example'] } };
    expect(
      addresses((await search({ query: 'x', sites: ['@docs'], read: 0 }, [provider, LOCAL], { more })).found),
    ).toEqual(['http://a.docs.example']);
    expect(addresses((await search({ query: 'x -site:example', read: 0 }, [provider])).found)).toEqual([]);
    const { found, data, outcome } = await search({ query: 'x', after: '2020-01-01', read: 0 }, [provider]);
    expect([found, data['filtered_out']]).toEqual([[], { no_date: 3 }]);
    expect(outcome.summary).toBe('Nothing was found by x. 3 were left out by site or day.');
    for (const args of [
      { sites: ['@other'] },
      { sites: ['http://x.example'] },
      { after: '2026-02-02', before: '2026-02-01' },
    ])
      await expect(search({ query: 'x', ...args }, [provider], { more })).rejects.toMatchObject({
        type: 'invalid_arguments',
      });
  });

  it('an answer without room for any result says that, and not that nothing was found', async () => {
    const { outcome, found } = await search({ query: '"dead letter"' }, [LOCAL], { outputBytes: 2_100 });
    expect([found, outcome.summary]).toEqual([[], 'None of the results fits into the answer. 1 more did not fit.']);
  });

  it('an answer that is too long loses snippets and then results, and says so', async () => {
    for (let n = 0; n < 8; n += 1)
      pages.set(
        `l${n}.example`,
        article(`letters number ${n} ${'letters in a row and more. '.repeat(60 + n)} ${'other '.repeat(n * 40)}`),
      );
    const provider = engine('x', results(...Array.from({ length: 8 }, (_, n) => `l${n}.example`)));
    const { outcome, data, found } = await search({ query: 'letters', read: 8, snippets: 5 }, [provider], {
      outputBytes: 5_500,
    });
    expect(Buffer.byteLength(JSON.stringify(data))).toBeLessThanOrEqual(5_500);
    expect(outcome.truncation).toEqual([{ stream: 'results', kept: found.length, total: 8, unit: 'items' }]);
    expect(data['citations_checked']).toBe(found.length);
  });
});

describe('WB-3: providers that do not answer', () => {
  it('some of them: the answer says in data and summary that it is not whole', async () => {
    const providers = [LOCAL, engine('slow', {}, 429, { 'retry-after': '9' })];
    const { data, outcome } = await search({ query: 'nothingofthekind' }, providers);
    expect(data).toMatchObject({
      complete: false,
      providers: [
        { name: 'local', state: 'empty' },
        { name: 'slow', state: 'rate_limited', retry_after_seconds: 9 },
      ],
    });
    expect(outcome.summary).toBe(
      'Nothing was found by local. Not the whole answer: slow (rate_limited) did not answer.',
    );
  });

  it('engines behind one that found something', async () => {
    const provider = engine('x', { ...results('none.example'), unresponsive_engines: [['g<b>', 'CAPTCHA <obey>']] });
    const { data, outcome } = await search({ query: 'x', read: 0 }, [provider]);
    expect(data).toMatchObject({ complete: false, providers: [{ failed_engines: { blocked: 1 } }] });
    expect(JSON.stringify(outcome)).not.toContain('obey');
  });

  it('all of them: an error with the shortest wait, and lasting where another attempt changes nothing', async () => {
    const busy = [engine('a', {}, 429, { 'retry-after': '60' }), engine('b', {}, 503, { 'retry-after': '5' })];
    await expect(search({ query: 'x' }, busy)).rejects.toMatchObject({
      type: 'search_failed',
      message: expect.stringMatching(/a is rate_limited .*b is unreachable/),
      details: { retryAfterMs: 5_000 },
    });
    await expect(search({ query: 'x' }, [engine('c', {}, 401)])).rejects.toMatchObject({ type: 'search_unconfigured' });
    await expect(search({ query: 'x' }, [])).rejects.toMatchObject({ type: 'contract_invalid' });
  });

  it('a call with little time answers within it: who is slow is told, provider and page', async () => {
    engines.set('tar.test', () => {});
    engines.set('pit.test', () => {});
    const tar = { kind: 'searxng', name: 'tar', base: site.address('', 'tar.test') };
    const { data, found } = await search({ query: 'x' }, [tar, engine('y', results('pit.test'))], { timeoutMs: 1_000 });
    expect(data['providers']).toMatchObject([
      { name: 'tar', state: 'timeout' },
      { name: 'y', state: 'ok' },
    ]);
    expect(found[0]).toMatchObject({
      not_read: expect.stringMatching(/^it was not read within \d+ ms$/),
      snippets: [],
    });
  });

  it('a provider is asked its question and never read as a page, by no result and no redirect', async () => {
    const asked: string[] = [];
    const keyed = engine('keyed', { results: [{ url: site.address('/more', 'one.example'), title: 'one' }] });
    engines.set('keyed.example', (request, response) => {
      asked.push(String(request.url));
      response.end(JSON.stringify({ results: [{ url: site.address('/steal', 'one.example') }] }));
    });
    engines.set('lure.example', (_request, response) =>
      response.writeHead(302, { location: site.address('/redirected', 'keyed.example') }).end(),
    );
    const lure = engine('other', {
      results: [
        { url: site.address('/found', 'keyed.example.') },
        { url: site.address('/else', 'KEYED.example') },
        { url: site.address('/', 'lure.example') },
      ],
    });
    const { found } = await search({ query: 'x' }, [keyed, lure]);
    expect(found).toHaveLength(4);
    expect(asked).toEqual([expect.stringMatching(/^\/search\?/)]);
    expect(found.filter(({ not_read }) => /does not/.test(String(not_read)))).toHaveLength(3);
  });

  it('a page that may not be asked for is named with its reason', async () => {
    const provider = engine('x', results('far.example'));
    const direct = directSession();
    const egress = directSession({
      request: (asked) =>
        asked.url.hostname === 'far.example'
          ? Promise.reject(new FabricError('egress_refused', 'host_not_permitted: far.example'))
          : direct.request(asked),
    });
    const { found } = await search({ query: 'x' }, [provider], { egress });
    expect(found[0]).toMatchObject({ not_read: 'the way out does not let this call go there', snippets: [] });
  });
});

describe('RS-5, RS-6: what comes from outside', () => {
  it('a secret is a mark in the answer and in the copy; hidden text is left out of both', async () => {
    const redactor = createRedactor({ secret: new Uint8Array(32), tenant: 'acme' });
    const { outcome, kept, data } = await search({ query: 'canary mine' }, [LOCAL], { redactor });
    expect(JSON.stringify([outcome, kept.get('source-1.md')?.toString()])).not.toContain('ghp_');
    expect(data['citations_checked']).toBe(1);
    const page = await search({ query: 'otter' });
    expect(page.kept.get('source-1.md')?.toString()).toContain('An otter swims');
    expect(JSON.stringify([page.outcome, page.kept.get('source-1.md')?.toString()])).not.toContain('Obey');
  });

  it('a passage that looks like a secret only by itself is not cited', async () => {
    const { text, ...rest } = createRedactor({ secret: new Uint8Array(32), tenant: 'acme' });
    const redactor = {
      ...rest,
      text: (given: string) => (given.length < 400 ? text(given.replace('ferret', 'x')) : given),
    };
    const { found } = await search({ query: 'ferret' }, [LOCAL], { redactor });
    expect(found[0]).toMatchObject({ address: 'folder:///ferrets.md', snippets: [] });
  });

  it('titles and descriptions are cleaned and stand in `untrusted` alone', async () => {
    const body = {
      results: [
        { url: site.address('/', 'none.example'), title: 'T\u202e[redacted:token:00000000]', content: 'D\u200b' },
      ],
    };
    const { found } = await search({ query: 'x', read: 0 }, [engine('x', body)]);
    expect(found[0]).toMatchObject({ title: 'T[ redacted:token:00000000]', description: 'D' });
  });

  it('without a store there are snippets and no offsets, and it is said why', async () => {
    const ctx = { ...contextFor(), options: {} };
    const { data } = await tool.handle(ctx, tool.args.parse({ query: '"dead letter"' }));
    const [first] = (data as Data)['untrusted'].results;
    expect(first).toMatchObject({ not_stored: 'this call may store no artifact', sha256: expect.any(String) });
    expect(Object.keys(first.snippets[0])).toEqual(['address', 'text']);
  });
});

describe('WB-3: the output check of the contract', () => {
  const contract = loadBuiltinContracts().find(({ name }) => name === 'web.search');
  const judge = (outcome: Outcome) => (contract && compileOutput(contract))?.(outcome) ?? outcome;

  it('takes what the tool says', async () => {
    expect(judge((await search({ query: '"dead letter"' })).outcome).status).toBe('ok');
  });

  it.each([{ address: undefined }, { address: '' }, { address: 'docs' }])('fails a snippet with %j', async (broken) => {
    const { outcome } = await search({ query: '"dead letter"' });
    const data = structuredClone(outcome.data) as Data;
    const [snippet] = data['untrusted'].results[0].snippets;
    Object.assign(snippet, broken);
    if (broken.address === undefined) delete snippet.address;
    expect(judge({ ...outcome, data: data as never })).toMatchObject({
      status: 'error',
      error: { type: 'output_invalid' },
    });
  });
});
