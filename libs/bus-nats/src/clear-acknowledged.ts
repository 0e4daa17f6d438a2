import type { ConsumerInfo, JetStreamManager } from '@nats-io/jetstream';
import { listStreams } from './plan-topology.ts';

/** Messages of one queue that are looked at by themselves in one round. */
const MOST_ONE_BY_ONE = 1_000;

/** `work.cli.hi.*` is the subject of every tenant. */
const fits = (filter: string, subject: string): boolean => {
  const [wanted, given] = [filter.split('.'), subject.split('.')];
  return wanted.length === given.length && wanted.every((token, at) => token === '*' || token === given[at]);
};

/** Up to here, everything that it may see is acknowledged: all that it was given, where nothing of that is open. */
const floorOf = ({ ack_floor, delivered, num_ack_pending }: ConsumerInfo): number =>
  num_ack_pending === 0 ? Math.max(delivered.stream_seq, ack_floor.stream_seq) : ack_floor.stream_seq;

/**
 * What a purge by subject leaves behind: after a kill the server may have lost under which subject a message stands, so
 * that it is found by its number alone. The oldest is taken away as long as its consumer has acknowledged it.
 */
export const clearOldest = async (
  manager: JetStreamManager,
  stream: string,
  consumers: readonly ConsumerInfo[],
): Promise<number> => {
  for (let cleared = 0; cleared < MOST_ONE_BY_ONE; cleared += 1) {
    const { state } = await manager.streams.info(stream);
    const found = state.messages === 0 ? null : await manager.streams.getMessage(stream, { seq: state.first_seq });
    const owner = found && consumers.find(({ config }) => fits(config.filter_subject ?? '', found.subject));
    if (!found || !owner || found.seq > floorOf(owner)) return cleared;
    await manager.streams.deleteMessage(stream, found.seq);
  }
  return MOST_ONE_BY_ONE;
};

/**
 * The consumers of a queue. After a kill the server may wait for the acknowledgement of a message that is gone, and the floor
 * of its consumer stays there for good. A purge below the floor removes nothing, and lets it forget deliveries before the
 * first message that is there.
 */
const settleFloors = async (manager: JetStreamManager, stream: string, firstSeq: number): Promise<ConsumerInfo[]> => {
  const list = async () => {
    const consumers: ConsumerInfo[] = [];
    for await (const consumer of manager.consumers.list(stream)) consumers.push(consumer);
    return consumers;
  };
  const present = await list();
  const stuck = present.filter((one) => one.num_ack_pending > 0 && floorOf(one) > 0 && floorOf(one) + 1 < firstSeq);
  for (const one of stuck) {
    const filter = one.config.filter_subject;
    if (filter !== undefined) await manager.streams.purge(stream, { filter, seq: floorOf(one) + 1 });
  }
  return stuck.length === 0 ? present : list();
};

/**
 * Messages that a consumer has acknowledged and that stand in its work queue again: a server before 2.10 brings them back
 * when it was killed before it had stored that they are gone. Nobody is ever given them, but they count as waiting. Up to
 * the floor of a consumer everything that it may see is acknowledged, so that nothing else is removed. Returns how many.
 */
export const clearAcknowledged = async (manager: JetStreamManager): Promise<number> => {
  let cleared = 0;
  for (const { config, state } of (await listStreams(manager)).values()) {
    if (config.retention !== 'workqueue' || state.messages === 0) continue;
    const consumers = await settleFloors(manager, config.name, state.first_seq);
    for (const consumer of consumers) {
      const floor = floorOf(consumer);
      const filter = consumer.config.filter_subject;
      if (filter === undefined || state.first_seq > floor) continue;
      cleared += (await manager.streams.purge(config.name, { filter, seq: floor + 1 })).purged;
    }
    cleared += await clearOldest(manager, config.name, consumers);
  }
  return cleared;
};
