import { connectEgress } from '@toolfabric/bus-nats';
import {
  type Approver,
  type CredentialDraft,
  CredentialRecord,
  EGRESS_RPC,
  type EgressReplyOf,
  type EgressVerb,
  type SecretParts,
  type VaultKey,
} from '@toolfabric/contract';
import {
  type Clock,
  FabricError,
  type Faults,
  type Logger,
  noFaults,
  sealToKey,
  silentLogger,
  systemClock,
} from '@toolfabric/kernel';
import { openBroker } from '../broker/open-broker.ts';
import type { CredentialChange } from '../broker/tell-changes.ts';
import type { CloseCredential } from '../broker/uses.ts';
import { DEFAULT_LIMITS } from '../limits.ts';
import type { PrivateOrigin } from '../oauth/private-origins.ts';
import { parseVaultKeys } from '../vault/vault-keys.ts';
import { VaultRecord } from '../vault/vault-record.ts';
import { openEgress } from './open-egress.ts';
import { type BusPlace, TEST_OAUTH_PACE } from './open-oauth.ts';

export interface BrokerOptions {
  readonly privateOrigins?: readonly PrivateOrigin[];
  readonly clock?: Clock;
  readonly faults?: Faults;
  readonly log?: Logger;
}

export const ANN: Approver = { tenant: 'acme', user: 'ann', agent: 'coder', tokenId: 'token-1', rights: [] };
export const KEEPER: Approver = { ...ANN, user: 'eve', rights: ['credentials:manage'] };

/** A keeper of credentials with its own way out, as one egress process is, on a real bus. */
export const openBrokerEgress = async (
  { url, nkeySeed, publicKeys }: BusPlace,
  keys: string,
  options: BrokerOptions,
) => {
  const bus = await connectEgress({ servers: [url], nkeySeed, publicKeys, name: 'egress' });
  const changes: CredentialChange[] = [];
  const late: { close?: CloseCredential } = {};
  const store = { credentials: bus.credentials(CredentialRecord), vault: bus.vault(VaultRecord) };
  const settings = {
    resolver: { resolve: () => Promise.resolve(['127.0.0.1']) },
    limits: DEFAULT_LIMITS,
    ca: [],
    privateOrigins: options.privateOrigins ?? [],
    redirectUris: [],
    pace: TEST_OAUTH_PACE,
  };
  const broker = openBroker(settings, parseVaultKeys(keys), {
    ...store,
    close: async (fits) => (await late.close?.(fits)) ?? { closed: 0 },
    clock: options.clock ?? systemClock,
    faults: options.faults ?? noFaults,
    tell: (change) => void changes.push(change),
    log: options.log ?? silentLogger,
  });
  const egress = await openEgress({}, { credentials: broker.source });
  late.close = egress.closeCredential;
  const ask = async <V extends EgressVerb>(verb: V, request: unknown): Promise<EgressReplyOf<V>> => {
    const answer = JSON.parse(await broker.serve(verb, JSON.stringify(request)));
    if ('error' in answer) throw FabricError.fromToolError(answer.error);
    return EGRESS_RPC[verb].reply.parse(answer.ok) as EgressReplyOf<V>;
  };
  return {
    ...store,
    broker,
    changes,
    egress,
    ask,
    add: async (by: Approver, about: Omit<CredentialDraft, 'sealed'>, parts?: SecretParts) => {
      const key: VaultKey = await ask('key', {});
      const sealed = parts && sealToKey(JSON.stringify(parts), key, about.handle);
      return ask('add', { by, draft: { ...about, ...(sealed === undefined ? {} : { sealed }) } });
    },
    stop: async () => {
      await egress.stop();
      await broker.stop();
      await bus.close();
    },
  };
};
export type BrokerEgress = Awaited<ReturnType<typeof openBrokerEgress>>;
