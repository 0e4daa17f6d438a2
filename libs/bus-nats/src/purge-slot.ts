import type { JetStreamManager } from '@nats-io/jetstream';
import { CLOCK_LEEWAY_MS, RING_SLOTS, WEEK_MS } from '@toolfabric/contract';
import { slotOf } from '@toolfabric/kernel';
import { BUCKETS, bucketPrefix, bucketStream, ledgerBucket } from './subjects.ts';

/** What became of a purge. `busy`: open calls still stand in the slot. `in_use`: the slot holds weeks that are kept. */
export type Purged =
  | { readonly outcome: 'purged'; readonly records: number }
  | { readonly outcome: 'busy'; readonly openCalls: number }
  | { readonly outcome: 'in_use' };

/** No purge so close to the change of the week: a clock ahead may already write the next one. */
const EDGE_MS = 20 * CLOCK_LEEWAY_MS;

/** The only slot that may be purged now: the one that the next week will use; undefined near the change of the week. */
export const purgeableSlot = (now: number): number | undefined => {
  const week = Math.floor((now + EDGE_MS) / WEEK_MS);
  const isEdge = week !== Math.floor((now - EDGE_MS) / WEEK_MS);
  return isEdge ? undefined : (week + 1) % RING_SLOTS;
};

const openCallsOf = async (manager: JetStreamManager, slot: number): Promise<number> => {
  const prefix = bucketPrefix(BUCKETS.open);
  const info = await manager.streams.info(bucketStream(BUCKETS.open), { subjects_filter: `${prefix}>` });
  const callIds = Object.keys(info.state.subjects ?? {}).map((subject) => subject.split('.').at(-1) ?? '');
  return callIds.filter((callId) => slotOf(callId) === slot).length;
};

/** Protocol 1: a slot is purged before its reuse, and only when no `OPEN` entry names a call of it. */
export const purgeSlot = async (manager: JetStreamManager, slot: number, now: number): Promise<Purged> => {
  if (purgeableSlot(now) !== slot) return { outcome: 'in_use' };
  const openCalls = await openCallsOf(manager, slot);
  if (openCalls > 0) return { outcome: 'busy', openCalls };
  const ledger = bucketStream(ledgerBucket(slot));
  const claims = new RegExp(`^KV_CLAIM_.+_${slot}$`);
  let records = 0;
  for await (const name of manager.streams.names()) {
    if (name === ledger || claims.test(name)) records += (await manager.streams.purge(name)).purged;
  }
  return { outcome: 'purged', records };
};
