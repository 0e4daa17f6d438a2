import { z } from 'zod';
import { Approver } from './approvals.ts';
import { CredentialHandle, EgressHost, EgressRule } from './egress.ts';
import { Token } from './identity.ts';
import { printable } from './task.ts';

/** How the secret of a credential comes about: given once, or fetched anew whenever it runs out. */
export const CredentialKind = z.enum([
  'static',
  'oauth_authorization_code',
  'oauth_client_credentials',
  'oauth_token_exchange',
]);
export type CredentialKind = z.infer<typeof CredentialKind>;

export const CredentialState = z.enum(['active', 'revoked', 'needs_login']);
export type CredentialState = z.infer<typeof CredentialState>;

/** Where a credential may be shown, and nowhere else: a request must fit it and the rule of its permit. */
export const CredentialAudience = z.strictObject({
  hosts: z.array(EgressHost).min(1).max(16),
  /** Beginnings of a path, by whole segments; any when left out. */
  paths: EgressRule.shape.paths,
});
export type CredentialAudience = z.infer<typeof CredentialAudience>;

const HeaderName = z.string().regex(/^[A-Za-z][A-Za-z0-9-]{0,63}$/, 'the name of a header');
const Template = z
  .string()
  .max(200)
  .regex(/^[ -~]*\{secret\}[ -~]*$/, 'printable ASCII with {secret} in it');

/** How it is shown: a header with the secret in its template, or user and secret as basic authentication. */
export const CredentialInjection = z.discriminatedUnion('type', [
  z.strictObject({ type: z.literal('header'), header: HeaderName, template: Template }),
  z.strictObject({ type: z.literal('basic'), user: printable(200).regex(/^[^:]*$/, 'no colon') }),
]);
export type CredentialInjection = z.infer<typeof CredentialInjection>;

const HttpsAddress = z.url({ protocol: /^https?$/ }).max(1_000);

/** The client of an authorisation server. Its own secret is among the sealed ones. */
export const OAuthClient = z.strictObject({
  issuer: HttpsAddress,
  clientId: printable(300).min(1),
  scopes: z
    .array(z.string().regex(/^[!#-[\]-~]{1,200}$/, 'a scope'))
    .max(50)
    .default([]),
  /** RFC 8707: for whom its tokens are. */
  resource: HttpsAddress.optional(),
  /** RFC 8693, for `oauth_token_exchange` without a sealed token: the credential whose token is exchanged. */
  subject: CredentialHandle.optional(),
});
export type OAuthClient = z.infer<typeof OAuthClient>;

const AboutCredential = {
  handle: CredentialHandle,
  /** What a person calls the account that acts. */
  account: printable(200).min(1),
  audience: CredentialAudience,
  inject: CredentialInjection,
  kind: CredentialKind,
  /** For every kind but `static`. */
  oauth: OAuthClient.optional(),
  /** Asked with GET by `test`, within the audience. */
  testAddress: HttpsAddress.optional(),
  /** Milliseconds since the epoch: from then on it is not used, and nothing makes it new. */
  expiresAt: z.int().positive().optional(),
};

/** What everybody who may see a credential sees of it: nothing in it is secret. */
export const CredentialRecord = z.strictObject({
  ...AboutCredential,
  tenant: Token,
  /** Whose it is, for a handle that begins with `user:`. */
  user: z.string().min(1).max(200).optional(),
  state: CredentialState,
  /** From 1; one more with each new secret that a person gave. */
  version: z.int().positive(),
  /** Milliseconds since the epoch, as the others. */
  createdAt: z.int(),
  changedAt: z.int(),
  lastUsedAt: z.int().optional(),
});
export type CredentialRecord = z.infer<typeof CredentialRecord>;

const Base64Url = z.string().regex(/^[\w-]*$/, 'base64url without padding');

/** A public key of a vault: X25519, 32 bytes. */
export const VaultKey = z.strictObject({ kid: Token, publicKey: Base64Url.length(43) });
export type VaultKey = z.infer<typeof VaultKey>;

/** Bytes that only the holder of the key `kid` can read: X25519, HKDF-SHA256, AES-256-GCM with its tag at the end. */
export const SealedSecret = z.strictObject({
  kid: Token,
  ephemeral: Base64Url.length(43),
  nonce: Base64Url.length(16),
  ciphertext: Base64Url.min(22).max(64_000),
});
export type SealedSecret = z.infer<typeof SealedSecret>;

/** Longest secret in bytes. */
export const MAX_SECRET_BYTES = 16 * 1024;
const SecretText = z.string().min(1).max(MAX_SECRET_BYTES);

/** What stands sealed, as JSON: what its kind needs, and nothing else. */
export const SecretParts = z.strictObject({
  /** For `static`. */
  secret: SecretText.optional(),
  clientSecret: SecretText.optional(),
  /** For `oauth_token_exchange`. */
  subjectToken: SecretText.optional(),
});
export type SecretParts = z.infer<typeof SecretParts>;

/** A credential as its owner gives it; sealed for its handle. */
export const CredentialDraft = z.strictObject({ ...AboutCredential, sealed: SealedSecret.optional() });
export type CredentialDraft = z.infer<typeof CredentialDraft>;

/** To keep credentials that act for others of the tenant. */
export const KEEP_RIGHT = 'credentials:manage';

/** Whether rights are enough to add, revoke, test or log in to a credential: one's own is everybody's. */
export const mayKeep = (rights: readonly string[], handle: CredentialHandle): boolean =>
  handle.startsWith('user:') || rights.includes(KEEP_RIGHT);

const ByHandle = { by: Approver, handle: CredentialHandle };

/**
 * What the gateway asks the keeper of credentials, on `rpc.egress.<verb>`; `by` is who asks, as their token says.
 * A reply is `{ok: …}` or `{error: …}`.
 */
export const EGRESS_RPC = {
  key: { request: z.strictObject({}), reply: VaultKey },
  add: { request: z.strictObject({ by: Approver, draft: CredentialDraft }), reply: CredentialRecord },
  list: {
    request: z.strictObject({
      by: Approver,
      /** Handle of the last one of the page before. */
      after: z.string().max(80).optional(),
      limit: z.int().min(1).max(100).default(50),
    }),
    reply: z.strictObject({ credentials: z.array(CredentialRecord), next: z.string().optional() }),
  },
  revoke: { request: z.strictObject(ByHandle), reply: CredentialRecord },
  test: {
    request: z.strictObject(ByHandle),
    reply: z.strictObject({
      credential: CredentialRecord,
      /** What the other side answered; left out when nothing came. */
      status: z.int().min(100).max(999).optional(),
      /** Why nothing came, as the way out says it. */
      refusal: z.string().max(200).optional(),
    }),
  },
  beginLogin: {
    request: z.strictObject({ ...ByHandle, redirectUri: HttpsAddress }),
    reply: z.strictObject({
      /** Where the browser of the owner has to go. */
      address: z.string().max(4_000),
      state: z.string().min(16).max(200),
      expiresAt: z.int(),
    }),
  },
  completeLogin: {
    request: z.strictObject({ ...ByHandle, state: z.string().max(200), address: z.string().max(8_192) }),
    reply: CredentialRecord,
  },
} as const;
export type EgressVerb = keyof typeof EGRESS_RPC;
export type EgressRequestOf<V extends EgressVerb> = z.input<(typeof EGRESS_RPC)[V]['request']>;
export type EgressReplyOf<V extends EgressVerb> = z.output<(typeof EGRESS_RPC)[V]['reply']>;
