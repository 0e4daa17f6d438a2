import { lookup } from 'node:dns/promises';
import { isNamed, isPublic } from '../decide/address-class.ts';
import type { Rule } from '../decide/compile-rules.ts';
import { Refused } from '../refuse.ts';
import type { Target } from '../target/parse-target.ts';

/** Who answers for a name; asked once for each connection, and for nothing that was not allowed before. */
export interface Resolver {
  /** All addresses in the order in which they should be tried. */
  resolve(name: string): Promise<readonly string[]>;
}

/** As the machine resolves: its hosts file, then its name servers. */
export const systemResolver: Resolver = {
  resolve: async (name) => (await lookup(name, { all: true, order: 'verbatim' })).map(({ address }) => address),
};

export interface ResolveLimits {
  readonly resolveMs: number;
  readonly addresses: number;
}

const before = async <T>(work: Promise<T>, ms: number, signal: AbortSignal): Promise<T> => {
  const end = AbortSignal.any([signal, AbortSignal.timeout(ms)]);
  const ended = Promise.withResolvers<never>();
  const onEnd = () => ended.reject(new Refused('resolve_failed'));
  end.addEventListener('abort', onEnd, { once: true });
  return Promise.race([work, ended.promise]).finally(() => end.removeEventListener('abort', onEnd));
};

/**
 * The addresses that may be dialled for the target under the rule. One that may not makes all void: an answer that mixes
 * public and private addresses is an attack or a mistake. Throws `resolve_failed`, `address_not_permitted`.
 */
export const resolveAllowed = async (
  target: Target,
  rule: Rule,
  resolver: Resolver,
  limits: ResolveLimits,
  signal: AbortSignal,
): Promise<readonly string[]> => {
  const found =
    target.address === undefined
      ? await before(resolver.resolve(target.host), limits.resolveMs, signal).catch((thrown: unknown) => {
          throw new Refused('resolve_failed', thrown);
        })
      : [target.address];
  if (found.length === 0) throw new Refused('resolve_failed');
  const named = rule.written.addresses ?? [];
  if (!found.every((address) => isPublic(address) || isNamed(address, named))) {
    throw new Refused('address_not_permitted');
  }
  return found.slice(0, limits.addresses);
};
