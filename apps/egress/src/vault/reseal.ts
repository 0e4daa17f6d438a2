import type { Logger } from '@toolfabric/kernel';
import { RevisionConflict, type Store } from '@toolfabric/ports';
import type { VaultKeys } from './vault-keys.ts';
import { openRecord, sealRecord, type VaultRecord } from './vault-record.ts';

const AT_ONCE = 16;

export interface Resealing {
  readonly store: Store<VaultRecord>;
  readonly keys: VaultKeys;
  readonly log: Logger;
  readonly signal: AbortSignal;
}

type Outcome = 'as_it_was' | 'resealed' | 'unopened';

/** Whoever else wrote it in the meantime sealed it with the newest key that they know. */
const reseal = async ({ store, keys }: Resealing, place: string): Promise<Outcome> => {
  const found = await store.get(place);
  if (found === undefined || found.value.kid === keys.newest.kid) return 'as_it_was';
  if (keys.byKid(found.value.kid) === undefined) return 'unopened';
  const { lease, failed } = found.value;
  const sealed = sealRecord(keys, place, openRecord(keys, place, found.value));
  try {
    await store.update(
      place,
      { ...sealed, ...(lease === undefined ? {} : { lease }), ...(failed === undefined ? {} : { failed }) },
      found.revision,
    );
    return 'resealed';
  } catch (thrown) {
    if (thrown instanceof RevisionConflict) return 'as_it_was';
    throw thrown;
  }
};

/**
 * Seals with the newest key all that stands below `prefix` under an older one, and says how much that was, and how much
 * no key opens. Never rejects: what was left is tried again at the next start.
 */
export const resealAll = async (resealing: Resealing, prefix: string): Promise<void> => {
  const { store, log, signal } = resealing;
  const counts: Record<Outcome, number> = { as_it_was: 0, resealed: 0, unopened: 0 };
  let failed = 0;
  try {
    const places = await store.keys(prefix);
    for (let at = 0; at < places.length && !signal.aborted; at += AT_ONCE) {
      const ended = await Promise.allSettled(places.slice(at, at + AT_ONCE).map((place) => reseal(resealing, place)));
      for (const one of ended) {
        if (one.status === 'fulfilled') counts[one.value] += 1;
        else failed += 1;
      }
    }
  } catch {
    failed += 1;
  }
  const { resealed, unopened } = counts;
  if (failed > 0 || unopened > 0) log.warn('vault.not-resealed', { resealed, unopened, failed });
  else log.info('vault.resealed', { resealed });
};
