import { hash, randomBytes, timingSafeEqual } from 'node:crypto';
import { Actor, Sha256, Token } from '@toolfabric/contract';
import { z } from 'zod';

/** One bearer token as it is stored: its hash, never its text. */
export const TokenEntry = z.strictObject({
  id: Token,
  /** SHA-256 of the token's text. */
  sha256: Sha256,
  tenant: Actor.shape.tenant,
  user: Actor.shape.user,
  agent: Actor.shape.agent,
  /** What the token may do beside calling tools. */
  rights: z.array(z.string().min(1).max(64)).max(32),
  /** Milliseconds since the epoch; never when left out. */
  expiresAt: z.int().optional(),
  disabled: z.boolean().optional(),
});
export type TokenEntry = z.infer<typeof TokenEntry>;

const unique = (entries: readonly TokenEntry[], key: 'id' | 'sha256') =>
  new Set(entries.map((entry) => entry[key])).size === entries.length;

export const TokensFile = z
  .array(TokenEntry)
  .max(10_000)
  .refine((entries) => unique(entries, 'id') && unique(entries, 'sha256'), 'each id and each hash once');

export interface NewToken {
  readonly id: string;
  readonly tenant: string;
  readonly user: string;
  readonly agent: string;
  readonly rights?: readonly string[];
  readonly expiresAt?: number;
}

/** The text is shown once and kept nowhere; the entry goes into the tokens file. */
export const issueToken = ({ rights = [], ...who }: NewToken): { token: string; entry: TokenEntry } => {
  const token = `tf_${randomBytes(32).toString('base64url')}`;
  const sha256 = hashOf(token).toString('hex');
  return { token, entry: TokenEntry.parse({ ...who, rights: [...rights], sha256 }) };
};

export const hashOf = (token: string): Buffer => hash('sha256', token, 'buffer');

interface Known {
  readonly entry: TokenEntry;
  readonly hash: Buffer;
}

/** The tokens that are valid now. */
export class TokenBook {
  #known: ReadonlyMap<string, Known> = new Map();

  replace(entries: readonly TokenEntry[]): void {
    this.#known = new Map(entries.map((entry) => [entry.sha256, { entry, hash: Buffer.from(entry.sha256, 'hex') }]));
  }

  get size(): number {
    return this.#known.size;
  }

  /** The entry of a hash, unless it is disabled or has expired. What is compared are hashes, in constant time. */
  find(hash: Buffer, now: number): TokenEntry | undefined {
    const known = this.#known.get(hash.toString('hex'));
    if (known === undefined || !timingSafeEqual(known.hash, hash)) return undefined;
    const { entry } = known;
    return entry.disabled || (entry.expiresAt !== undefined && entry.expiresAt <= now) ? undefined : entry;
  }
}
