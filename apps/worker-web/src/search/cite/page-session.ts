import type { SearchProvider } from '@toolfabric/contract';
import { FabricError } from '@toolfabric/kernel';
import type { EgressSession } from '@toolfabric/ports';

const hostOf = ({ hostname }: URL): string => hostname.replace(/\.$/, '');

/**
 * The way out as pages are read by it. It refuses the hosts of the providers: the rules for them may inject a key and
 * allow private addresses, and neither is meant for an address that the outside named.
 */
export const pageSession = (
  egress: EgressSession | undefined,
  providers: readonly SearchProvider[],
): EgressSession | undefined => {
  if (egress === undefined) return undefined;
  const kept = new Set(
    providers.flatMap((provider) => (provider.kind === 'local' ? [] : hostOf(new URL(provider.base)))),
  );
  return {
    request: (request) =>
      kept.has(hostOf(request.url))
        ? Promise.reject(new FabricError('egress_refused', 'host_not_permitted: no page is read from a provider'))
        : egress.request(request),
    proxy: () => Promise.reject(new FabricError('egress_refused', 'host_not_permitted: pages are read one by one')),
    close: () => egress.close(),
  };
};
