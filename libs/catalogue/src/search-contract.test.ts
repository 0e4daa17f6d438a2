import { SearchOptions, ToolContract } from '@toolfabric/contract';
import { describe, expect, it } from 'vitest';
import { contractDigests } from './contract-digests.ts';
import { loadBuiltinContracts } from './load-contracts.ts';
import { type ProviderSetup, searchContract } from './search-contract.ts';

const base = loadBuiltinContracts().find(({ name }) => name === 'web.search') as ToolContract;
const provider = (given: object, more: Omit<ProviderSetup, 'provider'> = {}): ProviderSetup => ({
  provider: SearchOptions.parse({ providers: [given] }).providers[0] as ProviderSetup['provider'],
  ...more,
});
const render = (providers: ProviderSetup[], readsPages = false) =>
  searchContract(base, { version: '1.1.0', providers, readsPages });

describe('WB-1: a contract for the providers of an installation', () => {
  it('allows each provider its one request, with its credential, and nothing else', () => {
    const contract = render([
      provider({ kind: 'local' }),
      provider({ kind: 'searxng', base: 'http://search.example.org:8080/find/' }, { addresses: ['10.0.0.0/8'] }),
      provider({ kind: 'brave' }, { credential: 'tenant:brave' }),
      provider({ kind: 'tavily' }, { credential: 'tenant:tavily' }),
    ]);
    expect(ToolContract.parse(contract)).toEqual(contract);
    expect(contract.execution.egress?.rules).toEqual([
      {
        host: 'search.example.org',
        scheme: 'http',
        ports: [8080],
        methods: ['GET'],
        paths: ['/find/search'],
        addresses: ['10.0.0.0/8'],
      },
      {
        host: 'api.search.brave.com',
        scheme: 'https',
        ports: [443],
        methods: ['GET'],
        paths: ['/res/v1/web/search'],
        credential: 'tenant:brave',
      },
      {
        host: 'api.tavily.com',
        scheme: 'https',
        ports: [443],
        methods: ['POST'],
        paths: ['/search'],
        credential: 'tenant:tavily',
      },
    ]);
    expect(contract).toMatchObject({ execution: { network: 'permit' }, governance: { risk: 'read', hosts: [] } });
  });

  it('lets pages be read by safe methods alone, and only where that is wanted', () => {
    const brave = provider({ kind: 'brave' });
    const rules = render([brave], true).execution.egress?.rules.slice(1);
    expect(rules).toEqual(['https', 'http'].map((scheme) => ({ host: '*', scheme, methods: ['GET', 'HEAD'] })));
    expect(render([brave]).execution.egress?.rules).toHaveLength(1);
  });

  it('needs no network for the folder alone', () => {
    const { execution, governance } = render([provider({ kind: 'local' })], true);
    expect(execution).toMatchObject({ network: 'none', options: { providers: [{ kind: 'local' }] } });
    expect([execution.egress, governance.hosts]).toEqual([undefined, undefined]);
  });

  it('another provider is another contract by its digest', () => {
    const digest = (kind: string) => contractDigests(render([provider({ kind })])).digest;
    expect(digest('brave')).not.toBe(digest('tavily'));
  });

  it('refuses two of one name, none, and a credential for the folder', () => {
    for (const providers of [
      [],
      [provider({ kind: 'brave' }), provider({ kind: 'brave' })],
      [provider({ kind: 'local' }, { credential: 'tenant:x' })],
    ])
      expect(() => render(providers)).toThrow();
  });
});
