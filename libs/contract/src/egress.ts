import { z } from 'zod';
import { Actor, Sha256, Token } from './identity.ts';

export const EGRESS_PERMIT_TYPE = 'toolfabric/egress-permit/1';

/**
 * A host name, `*.` and a suffix of at least two labels, or an address: in lower case, in Punycode, without a closing
 * dot. `*.` stands for one label or more, never for none.
 */
export const EgressHost = z
  .string()
  .min(1)
  .max(253)
  .regex(
    /^(?:\*\.(?=[^.]+\.))?[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?(?:\.[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?)*$|^\[[0-9a-f:.]{2,45}\]$/,
    'a host name, "*." and a suffix of two labels, or an address',
  );

/** The name of a credential: whose it is and what it is called there, for example `user:tracker` or `tenant:registry`. */
export const CredentialHandle = z
  .string()
  .regex(/^(?:user|tenant|shared):[a-z0-9][a-z0-9_.-]{0,62}$/, '"user:", "tenant:" or "shared:" and a name');
export type CredentialHandle = z.infer<typeof CredentialHandle>;

/** One thing that a permit allows; what it leaves out is not restricted by it, but for scheme and ports. */
export const EgressRule = z.strictObject({
  host: EgressHost,
  /** `https` when left out. */
  scheme: z.enum(['https', 'http']).optional(),
  /** 443 when left out, 80 for `http`. */
  ports: z.array(z.int().min(1).max(65_535)).min(1).max(16).optional(),
  /** With methods, paths or a credential the exchange is read: TLS ends at the egress. Without them it passes through. */
  methods: z
    .array(z.string().regex(/^[A-Z]{3,12}$/, 'a method in capitals'))
    .min(1)
    .max(12)
    .optional(),
  /** Beginnings of a path, by whole segments: `/api/v1` allows `/api/v1` and `/api/v1/x`, not `/api/v10`. */
  paths: z
    .array(z.string().regex(/^\/[!-~]{0,499}$/, 'a path'))
    .min(1)
    .max(32)
    .optional(),
  /** Address ranges, as CIDR, that the host may lie in although they are not public. */
  addresses: z.array(z.string().max(50)).min(1).max(8).optional(),
  /** Injected there, and nowhere else. */
  credential: CredentialHandle.optional(),
  /** SHA-256 of the public keys (SubjectPublicKeyInfo) one of which the host must show. */
  keys: z.array(Sha256).min(1).max(8).optional(),
});
export type EgressRule = z.infer<typeof EgressRule>;

/**
 * A router's signed leave to go out for one execution. No rule allows nothing. It is void in a pool that it does not
 * name, after `expires`, and once its epoch was revoked.
 */
export const EgressPermit = z.strictObject({
  kind: Token,
  actor: Actor,
  taskId: z.string(),
  callId: z.string(),
  epoch: z.int().positive(),
  rules: z.array(EgressRule).max(64),
  /** Bytes in both directions together. */
  maxBytes: z.int().positive(),
  /** Connections that may be open at one time. */
  maxConnections: z.int().min(1).max(256),
  /** Milliseconds since the epoch. */
  expires: z.int(),
});
export type EgressPermit = z.infer<typeof EgressPermit>;
