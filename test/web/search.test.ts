import type { RequestListener } from 'node:http';
import { loadBuiltinContracts, parseSearchSetup, searchContract } from '@toolfabric/catalogue';
import { EGRESS_PERMIT_TYPE, type EgressRule, type ToolContract } from '@toolfabric/contract';
import { createEgressDoor } from '@toolfabric/egress-http';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { certificateFor, testAuthority } from '../../apps/egress/src/testing/certificates.ts';
import { openEgress, permitFor, routerSigner, type TestEgress } from '../../apps/egress/src/testing/open-egress.ts';
import { openPeer, type Peer } from '../../apps/egress/src/testing/open-peer.ts';
import type { Driver } from '../../apps/worker-web/src/driver.ts';
import { webSearchTool } from '../../apps/worker-web/src/search/web-search.ts';
import { contextFor, keepCopies, openDriver } from '../../apps/worker-web/src/testing/web-fixture.ts';

const [BRAVE, SEARXNG, PAGE] = ['api.search.example.com', 'metasearch.example.com', 'page.example.com'];
const KEY = `key-${'k'.repeat(20)}`;
const LOOPBACK = ['127.0.0.0/8'];
const builtin = loadBuiltinContracts().find(({ name }) => name === 'web.search') as ToolContract;

let egress: TestEgress;
let driver: Driver;
let brave: Peer;
let searxng: Peer;
let page: Peer;
let caught: readonly string[];
let contract: ToolContract;
/** What the metasearch answers, and where the page leads, from now on. */
let found: readonly object[] = [];
let leads: string | undefined;

const page1: RequestListener = (_request, response) =>
  leads === undefined
    ? response
        .writeHead(200, { 'content-type': 'text/html' })
        .end(`<article><p>${'A queue holds what waits. '.repeat(20)}</p></article>`)
    : response.writeHead(302, { location: leads }).end();

const setup = () =>
  searchContract(
    builtin,
    parseSearchSetup({
      version: '1.1.0',
      reads_pages: true,
      providers: [
        {
          kind: 'brave',
          base: `https://${BRAVE}:${brave.port}`,
          credential: 'tenant:brave',
          addresses: LOOPBACK,
        },
        { kind: 'searxng', base: `http://${SEARXNG}:${searxng.port}/find`, addresses: LOOPBACK },
      ],
    }),
  );

beforeAll(async () => {
  const [outside, authority] = [await testAuthority(), await testAuthority()];
  brave = await openPeer(await certificateFor([BRAVE], outside), (request, response) => {
    const isKnown = request.headers['x-subscription-token'] === KEY;
    const results = [{ url: `http://${PAGE}:${page.port}/`, title: 'Queues', description: 'What waits.' }];
    response
      .writeHead(isKnown ? 200 : 422, { 'content-type': 'application/json' })
      .end(JSON.stringify(isKnown ? { type: 'search', web: { results } } : { error: 'SUBSCRIPTION_TOKEN_INVALID' }));
  });
  searxng = await openPeer(undefined, (_request, response) => response.end(JSON.stringify({ results: found })));
  page = await openPeer(undefined, page1);
  const credentials = {
    headersFor: () => Promise.resolve({ headers: { 'x-subscription-token': KEY }, secrets: [KEY] }),
  };
  egress = await openEgress({ authority, extraCa: [outside.cert] }, { credentials });
  caught = [authority.cert];
  driver = openDriver();
  contract = setup();
}, 30_000);
afterAll(async () => {
  driver.close();
  await egress.stop();
  await Promise.all([brave, searxng, page].map((peer) => peer.stop()));
});

/** The site of this machine, beside the rules of the contract, whose own rule for pages is for public addresses. */
const pageRule = (): EgressRule => ({
  host: PAGE,
  scheme: 'http',
  ports: [page.port],
  methods: ['GET', 'HEAD'],
  addresses: LOOPBACK,
});

// biome-ignore lint/suspicious/noExplicitAny: a test looks at single fields of what is JSON for everybody.
type Data = Record<string, any>;
const search = async (rules: readonly EgressRule[], more: object = {}) => {
  const door = createEgressDoor({ socketPath: egress.socketPath, ca: caught.join('') });
  const session = door.session(routerSigner.sign(EGRESS_PERMIT_TYPE, JSON.stringify(permitFor(rules, more))));
  const { kept, session: artifacts } = keepCopies();
  const tool = webSearchTool(driver);
  const options = JSON.parse(JSON.stringify(contract.execution.options));
  try {
    const ctx = { ...contextFor({ artifacts, egress: session }), options };
    const outcome = await tool.handle(ctx, tool.args.parse({ query: 'queue' }));
    return { outcome, kept, data: outcome.data as Data };
  } finally {
    await session.close();
  }
};
const ownRules = () => contract.execution.egress?.rules ?? [];
const results = (data: Data) => data['untrusted']['results'] as Record<string, string>[];
const states = (data: Data) =>
  (data['providers'] as Record<string, string>[]).map(({ name, state }) => `${name} ${state}`);

describe('WB-1: web.search through the way out, by the rules of its contract', () => {
  it('asks each provider under its own rule, with the key that only the way out has, and reads a page', async () => {
    const { data, outcome, kept } = await search([...ownRules(), pageRule()]);
    expect(states(data)).toEqual(['brave ok', 'searxng empty']);
    expect(data['citations_checked']).toBeGreaterThan(0);
    expect(kept.get('source-1.md')?.toString()).toContain('A queue holds what waits');
    expect(brave.seen.at(-1)?.url).toMatch(/^\/res\/v1\/web\/search\?q=queue&/);
    expect(searxng.seen.at(-1)?.url).toMatch(/^\/find\/search\?q=queue&format=json/);
    expect(page.seen.at(-1)?.headers['x-subscription-token']).toBeUndefined();
    expect(JSON.stringify([outcome, ...kept.values()])).not.toContain(KEY);
  });

  it('a page of an address that is not public is not read, and the provider is still told as answered', async () => {
    const before = page.seen.length;
    const { data } = await search(ownRules());
    expect(states(data)[0]).toBe('brave ok');
    expect(results(data)[0]).toMatchObject({ not_read: 'the way out does not let this call go there', snippets: [] });
    expect(page.seen.length).toBe(before);
  });

  it.each([
    ['a result', () => `https://${BRAVE}:${brave.port}/res/v1/web/search?q=stolen`],
    ['a redirect', () => `http://${PAGE}:${page.port}/`],
  ])('%s that leads to a provider is not asked with its key', async (what, addressOf) => {
    found = [{ url: addressOf(), title: 'lure' }];
    leads = what === 'a redirect' ? `https://${BRAVE}:${brave.port}/res/v1/web/search?q=stolen` : undefined;
    try {
      const { data } = await search([...ownRules(), pageRule()]);
      expect(results(data).length).toBeGreaterThan(0);
      expect(brave.seen.filter(({ url }) => url.includes('stolen'))).toEqual([]);
    } finally {
      [found, leads] = [[], undefined];
    }
  });

  it('WB-3: a provider that the task forbids is told as refused, and all of them as a failure', async () => {
    const { data } = await search(ownRules(), { except: [BRAVE] });
    expect([states(data), data['complete']]).toEqual([['brave refused', 'searxng empty'], false]);
    await expect(search(ownRules(), { except: ['*.example.com'] })).rejects.toMatchObject({
      type: 'search_unconfigured',
      message: expect.stringMatching(/brave is refused .*searxng is refused/),
    });
  });
});
