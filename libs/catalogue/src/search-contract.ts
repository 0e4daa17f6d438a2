import {
  type CredentialHandle,
  type EgressRule,
  providerName,
  type RemoteProvider,
  SearchOptions,
  type SearchProvider,
  type ToolContract,
} from '@toolfabric/contract';
import { FabricError } from '@toolfabric/kernel';

/** A provider, and what the way out needs to know of it. */
export interface ProviderSetup {
  readonly provider: SearchProvider;
  /** Injected at the way out. */
  readonly credential?: CredentialHandle;
  /** Address ranges, as CIDR, that its host may lie in although they are not public. */
  readonly addresses?: readonly string[];
}

export interface SearchSetup {
  readonly version: string;
  readonly providers: readonly ProviderSetup[];
  readonly groups?: SearchOptions['groups'];
  /** Whether pages that were found may be read: any public host, by GET and HEAD alone. */
  readonly readsPages: boolean;
}

const CALLS: Readonly<Record<RemoteProvider['kind'], { readonly method: string; readonly path: string }>> = {
  searxng: { method: 'GET', path: '/search' },
  brave: { method: 'GET', path: '/res/v1/web/search' },
  tavily: { method: 'POST', path: '/search' },
};

/** Bytes of one call in both directions: the answers of all providers, and ten pages. */
const MAX_BYTES = 128 * 1024 ** 2;

const ruleOf = ({ provider, credential, addresses }: ProviderSetup): EgressRule[] => {
  if (provider.kind === 'local') return [];
  const { protocol, hostname, port, pathname } = new URL(provider.base);
  const { method, path } = CALLS[provider.kind];
  const scheme = protocol === 'https:' ? 'https' : 'http';
  return [
    {
      host: hostname,
      scheme,
      ports: [port === '' ? (scheme === 'https' ? 443 : 80) : Number(port)],
      methods: [method],
      paths: [`${pathname.replace(/\/$/, '')}${path}`],
      ...(credential === undefined ? {} : { credential }),
      ...(addresses === undefined ? {} : { addresses: [...addresses] }),
    },
  ];
};

const PAGES: readonly EgressRule[] = (['https', 'http'] as const).map((scheme) => ({
  host: '*',
  scheme,
  methods: ['GET', 'HEAD'],
}));

const told = ({ provider }: ProviderSetup): string =>
  provider.kind === 'local' ? `${providerName(provider)} (the folder of your tenant)` : providerName(provider);

/** With who is asked in its description: a model has to know where its words go. */
const described = (
  { capability, ...base }: ToolContract,
  { version, providers }: Pick<SearchSetup, 'version' | 'providers'>,
): ToolContract => ({
  ...base,
  capability: { ...capability, description: `${capability.description} It asks ${providers.map(told).join(', ')}.` },
  version,
});

/**
 * The contract of `web.search` for a set of providers: who is asked stands in its options, where it may go in its rules,
 * and both are covered by its digest. `governance.hosts` is empty and not left out: no argument names a host, and the
 * hosts of the providers are judged before every call.
 *
 * Throws `contract_invalid` for options that no worker would take, and for a credential without a host.
 */
export const searchContract = (builtin: ToolContract, setup: SearchSetup): ToolContract => {
  const { providers, groups = {}, readsPages } = setup;
  const options = SearchOptions.safeParse({ providers: providers.map(({ provider }) => provider), groups });
  if (!options.success)
    throw new FabricError('contract_invalid', options.error.issues.map(({ message }) => message).join('; '));
  const idle = providers.find(({ provider, ...given }) => provider.kind === 'local' && Object.keys(given).length > 0);
  if (idle !== undefined) throw new FabricError('contract_invalid', 'the folder of the tenant needs no credential');
  const base = described(builtin, setup);
  const chosen = options.data as ToolContract['execution']['options'];
  const { egress: _, network: __, ...execution } = base.execution;
  const rules = providers.flatMap(ruleOf);
  if (rules.length === 0) return { ...base, execution: { ...execution, network: 'none', options: chosen } };
  return {
    ...base,
    execution: {
      ...execution,
      network: 'permit',
      egress: { rules: [...rules, ...(readsPages ? PAGES : [])], max_bytes: MAX_BYTES, max_connections: 16 },
      options: chosen,
    },
    governance: { ...base.governance, hosts: [] },
  };
};
