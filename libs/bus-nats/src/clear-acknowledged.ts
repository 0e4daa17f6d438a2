import type { JetStreamManager } from '@nats-io/jetstream';
import { listStreams } from './plan-topology.ts';

/**
 * Messages that a consumer has acknowledged and that stand in its work queue again: a server before 2.10 brings them back
 * when it was killed before it had stored that they are gone. Nobody is ever given them, but they count as waiting. Up to
 * the floor of a consumer everything that it may see is acknowledged, so that nothing else is removed. Returns how many.
 */
export const clearAcknowledged = async (manager: JetStreamManager): Promise<number> => {
  let cleared = 0;
  for (const { config, state } of (await listStreams(manager)).values()) {
    if (config.retention !== 'workqueue' || state.messages === 0) continue;
    for await (const consumer of manager.consumers.list(config.name)) {
      const floor = consumer.ack_floor.stream_seq;
      const filter = consumer.config.filter_subject;
      if (filter === undefined || state.first_seq > floor) continue;
      cleared += (await manager.streams.purge(config.name, { filter, seq: floor + 1 })).purged;
    }
  }
  return cleared;
};
