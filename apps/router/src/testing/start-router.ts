import { noFaults, PACES, silentLogger } from '@toolfabric/kernel';
import type { RunningService } from '@toolfabric/service-host';
import { start } from '../start.ts';

export interface ServerParts {
  readonly url: string;
  readonly seeds: Readonly<Record<string, string>>;
  readonly busKeys: Readonly<Record<string, string>>;
  readonly signing: { readonly kid: string; readonly privateKey: string };
}

/** For tests: a whole router in this process, at the pace of tests. */
export const startRouter = (
  { url, seeds, busKeys, signing }: ServerParts,
  policyDir?: string,
): Promise<RunningService> =>
  start(
    {
      bus: { servers: url, nkeySeed: seeds['router'] ?? '', publicKeys: busKeys },
      signing: { kid: signing.kid, privateKey: signing.privateKey },
      kinds: ['cli'],
      ...(policyDir === undefined ? {} : { policyDir }),
      tenancy: 'single',
      environment: 'development',
      pace: PACES.test,
      faults: noFaults,
      telemetry: { sampling: 0 },
    },
    silentLogger,
  );
