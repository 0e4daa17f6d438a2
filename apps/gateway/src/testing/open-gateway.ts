import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Faults, type Logger, noFaults, PACES, silentLogger, systemClock } from '@toolfabric/kernel';
import type { ArtifactFront, GatewayPorts } from '@toolfabric/ports';
import type { ListenConfig } from '@toolfabric/service-host';
import { type GatewayLimits, LIMITS } from '../limits.ts';
import type { OidcIssuer } from '../oidc/issuer-config.ts';
import { type Gateway, startGateway } from '../start-gateway.ts';
import { issueToken, type NewToken, type TokenEntry } from '../tokens.ts';

export const ALICE = { tenant: 'acme', user: 'alice', agent: 'coder' };
export const BOB = { tenant: 'acme', user: 'bob', agent: 'coder' };

/** What a client of the front door looks like from here. */
export interface Closable {
  close(): void;
}

export interface OpenGateway<Client extends Closable> {
  readonly gateway: Gateway;
  readonly tokensFile: string;
  readonly entries: TokenEntry[];
  /** Adds a token to the file and gives its text. */
  issue(token: NewToken): string;
  writeTokens(): void;
  /** A client with a token of its own; closed with the gateway. */
  connect(token: string): Client;
  readonly alice: string;
  readonly bob: string;
  close(): Promise<void>;
}

export interface OpenOptions {
  readonly limits?: Partial<GatewayLimits>;
  readonly listen?: Partial<ListenConfig>;
  readonly pollMs?: number;
  readonly faults?: Faults;
  readonly logger?: Logger;
  readonly front?: ArtifactFront;
  readonly hasTraces?: boolean;
  readonly issuers?: readonly OidcIssuer[];
  /** Known tokens in place of new ones for alice and bob. */
  readonly tokens?: readonly TokenEntry[];
}

/** A real gateway on a free loopback port over the given bus. */
export const openGateway = async <Client extends Closable>(
  connect: (to: { address: string; token: string }) => Client,
  ports: GatewayPorts,
  options: OpenOptions = {},
): Promise<OpenGateway<Client>> => {
  const folder = mkdtempSync(join(tmpdir(), 'toolfabric-gateway-'));
  const tokensFile = join(folder, 'tokens.json');
  const entries = [...(options.tokens ?? [])];
  const clients: Client[] = [];
  const writeTokens = () => writeFileSync(tokensFile, JSON.stringify(entries));
  const issue = (token: NewToken) => {
    const issued = issueToken(token);
    entries.push(issued.entry);
    return issued.token;
  };
  const isFresh = options.tokens === undefined;
  const alice = isFresh ? issue({ id: 'alice', ...ALICE, rights: ['registry:publish'] }) : '';
  const bob = isFresh ? issue({ id: 'bob', ...BOB }) : '';
  writeTokens();
  const config = {
    listen: { host: '127.0.0.1', port: 0, insecure: false, ...options.listen },
    tokensFile,
    issuers: options.issuers ?? [],
    hasTraces: options.hasTraces ?? true,
    pace: { ...PACES.test, rpcAttemptMs: 200, waitPollMs: options.pollMs ?? 60_000, drainMs: 1_000 },
    limits: { ...LIMITS, ...options.limits },
    faults: options.faults ?? noFaults,
  };
  const { logger = silentLogger, front } = options;
  const gateway = await startGateway(config, ports, logger, systemClock, front).catch((error: unknown) => {
    rmSync(folder, { recursive: true });
    throw error;
  });
  return {
    gateway,
    tokensFile,
    entries,
    issue,
    writeTokens,
    alice,
    bob,
    connect(token) {
      const client = connect({ address: gateway.address, token });
      clients.push(client);
      return client;
    },
    async close() {
      for (const client of clients) client.close();
      await gateway.stop();
      rmSync(folder, { recursive: true, force: true });
    },
  };
};
