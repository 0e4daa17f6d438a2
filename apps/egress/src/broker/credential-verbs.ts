import {
  type CredentialHandle,
  EGRESS_RPC,
  type EgressReplyOf,
  type EgressVerb,
  KEEP_RIGHT,
  mayKeep,
} from '@toolfabric/contract';
import { type Clock, FabricError, type Logger, toFabricError } from '@toolfabric/kernel';
import type { z } from 'zod';
import type { FetchSettings } from '../oauth/guarded-fetch.ts';
import type { Logins } from '../oauth/logins.ts';
import type { VaultKeys } from '../vault/vault-keys.ts';
import { checkDraft } from './check-draft.ts';
import { parseSecrets } from './parse-secrets.ts';
import { loginPlace, secretsPlace } from './places.ts';
import { testCredential } from './test-credential.ts';
import type { SecretPorts } from './usable-secret.ts';
import type { Uses } from './uses.ts';

export interface VerbPorts extends SecretPorts {
  readonly keys: VaultKeys;
  readonly logins: Pick<Logins, 'begin' | 'complete'>;
  readonly uses: Uses;
  readonly fetching: FetchSettings;
  readonly clock: Clock;
  readonly log: Logger;
}

type Request<V extends EgressVerb> = z.output<(typeof EGRESS_RPC)[V]['request']>;
type Handlers = { readonly [V in EgressVerb]: (request: Request<V>) => Promise<EgressReplyOf<V>> };
type By = Request<'revoke'>['by'];

/** The gateway has looked at the rights too; the keeper of secrets relies on nobody for it. */
const checkRight = (by: By, handle: CredentialHandle): By => {
  if (mayKeep(by.rights, handle)) return by;
  throw new FabricError('forbidden', `a credential of the tenant needs a token with the right ${KEEP_RIGHT}`);
};

const handlersOf = (ports: VerbPorts): Handlers => {
  const { kept, vault, keys, logins, uses, clock, log } = ports;
  const tell = (event: string, { tenant }: By, handle: string) => log.info(event, { tenant, handle });
  const present = async (by: By, handle: CredentialHandle) => {
    const record = await kept.get(checkRight(by, handle), handle);
    if (record.state === 'revoked') throw new FabricError('credential_missing', 'the credential was revoked');
    return record;
  };
  return {
    key: async () => keys.newest.public,
    add: async ({ by, draft }) => {
      const { sealed: _, ...about } = draft;
      checkRight(by, draft.handle);
      checkDraft(draft, clock.now());
      const secrets = parseSecrets(draft, keys);
      const state = draft.kind === 'oauth_authorization_code' ? 'needs_login' : 'active';
      const record = await kept.add(by, about, secrets, state);
      tell('credentials.added', by, draft.handle);
      await uses.look();
      return record;
    },
    list: async ({ by, after = '', limit }) => {
      const rest = (await kept.list(by)).filter(({ handle }) => handle > after);
      const credentials = rest.slice(0, limit);
      const last = credentials.at(-1)?.handle;
      return { credentials, ...(rest.length > limit && last !== undefined ? { next: last } : {}) };
    },
    revoke: async ({ by, handle }) => {
      const record = await kept.revoke(checkRight(by, handle), handle);
      tell('credentials.revoked', by, handle);
      await uses.look();
      return record;
    },
    test: async ({ by, handle }) => {
      const record = await present(by, handle);
      const outcome = await testCredential(ports, record, ports.fetching);
      return { credential: record, ...outcome };
    },
    beginLogin: async ({ by, handle, redirectUri }) => {
      const record = await present(by, handle);
      return logins.begin({ record, place: loginPlace(record) }, redirectUri);
    },
    completeLogin: async ({ by, handle, state, address }) => {
      const record = await present(by, handle);
      const given = (await vault.read(secretsPlace(record)))?.secrets ?? {};
      const secrets = await logins.complete({ record, place: loginPlace(record) }, given, state, address);
      const renewed = await kept.login(by, record, secrets);
      tell('credentials.logged-in', by, handle);
      await uses.look();
      return renewed;
    },
  };
};

const isVerb = (verb: string): verb is EgressVerb => Object.hasOwn(EGRESS_RPC, verb);

const answer = async <V extends EgressVerb>(handlers: Handlers, verb: V, body: string) => {
  const request = EGRESS_RPC[verb].request.safeParse(JSON.parse(body));
  if (!request.success) throw new FabricError('invalid_request', 'the request has another shape than expected');
  return handlers[verb](request.data as Request<V>);
};

/** Answers what the gateway asks: `{ok}` or `{error}`, as JSON. Never rejects. */
export const createVerbs = (ports: VerbPorts) => {
  const handlers = handlersOf(ports);
  return async (verb: string, body: string): Promise<string> => {
    try {
      if (!isVerb(verb)) throw new FabricError('invalid_request', 'no such request');
      return JSON.stringify({ ok: await answer(handlers, verb, body) });
    } catch (thrown) {
      return JSON.stringify({ error: toFabricError(thrown, 'unavailable').toToolError() });
    }
  };
};
