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
  /** `*` is any host with public addresses, for reading alone: such a rule names the methods GET, HEAD or both. */
  host: z.union([EgressHost, z.literal('*')]),
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
  /** Hosts that no rule allows; `*.` and a suffix here means the suffix itself too. */
  except: z.array(EgressHost).max(200).optional(),
  /** Bytes in both directions together. */
  maxBytes: z.int().positive(),
  /** Connections that may be open at one time. */
  maxConnections: z.int().min(1).max(256),
  /** Milliseconds since the epoch. */
  expires: z.int(),
});
export type EgressPermit = z.infer<typeof EgressPermit>;

/** What a contract asks the way out for. Without a rule and without `from_arguments` it asks for nothing. */
export const EgressBlock = z.strictObject({
  /** Hosts that every call of the tool may reach. */
  rules: z.array(EgressRule).max(16).default([]),
  /** One rule for each host that the arguments of a call name where `governance.hosts` points. */
  from_arguments: z
    .strictObject({
      /** `https` when left out. */
      schemes: z
        .array(z.enum(['https', 'http']))
        .min(1)
        .max(2)
        .optional(),
      /** The usual port of each scheme, and the one that an address names, when left out. */
      ports: EgressRule.shape.ports,
      methods: EgressRule.shape.methods,
      paths: EgressRule.shape.paths,
      addresses: EgressRule.shape.addresses,
    })
    .optional(),
  /** Bytes in both directions together. */
  max_bytes: z
    .int()
    .min(1_024)
    .max(100 * 1024 ** 3),
  max_connections: z.int().min(1).max(256).default(16),
});
export type EgressBlock = z.infer<typeof EgressBlock>;

/** The epoch of a call up to which every permit of it is void; only ever raised. */
export const EgressFloor = z.strictObject({ callId: z.string(), epoch: z.int().positive() });
export type EgressFloor = z.infer<typeof EgressFloor>;

/** The life sign of one egress process. `drained` says that it closed everything before it ended. */
export const DoorLife = z.strictObject({
  incarnation: z.string(),
  state: z.enum(['alive', 'dead', 'drained']),
  /** Counts up with each renewal. */
  beat: z.int(),
  /** Pools whose permits it takes. */
  kinds: z.array(Token),
  /** Milliseconds since the epoch by the clock of the router that found it dead. */
  diedAt: z.int().optional(),
});
export type DoorLife = z.infer<typeof DoorLife>;

/** What a router tells the egress processes: every permit of that call up to that epoch is void. */
export const EgressRevocation = z.strictObject({
  tenant: Token,
  callId: z.string(),
  epoch: z.int().positive(),
});
export type EgressRevocation = z.infer<typeof EgressRevocation>;

/** The answer: everything is closed, so many connections were open. */
export const EgressClosed = z.strictObject({ closed: z.int().nonnegative() });
export type EgressClosed = z.infer<typeof EgressClosed>;
