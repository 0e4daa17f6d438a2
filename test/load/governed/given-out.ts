import { CORE_API, workStream } from '@toolfabric/bus-nats';
import { z } from 'zod';
import type { Cluster } from '../../support/cluster.ts';

const Position = z.looseObject({ stream_seq: z.int() });
const Consumers = z.looseObject({
  consumers: z.array(
    z.looseObject({
      name: z.string(),
      delivered: Position,
      ack_floor: Position,
      num_pending: z.int(),
      num_ack_pending: z.int(),
      num_redelivered: z.int(),
    }),
  ),
});

/** How far the consumers of every queue are, those alone that still have something to give or to wait for. */
export const consumersAtWork = async ({ nats, kinds }: Cluster) => {
  const provisioner = await nats.connectRaw('provisioner');
  const found = [];
  for (const kind of kinds) {
    const subject = `${CORE_API}.CONSUMER.LIST.${workStream(kind)}`;
    const { consumers } = Consumers.parse(JSON.parse((await provisioner.request(subject, '', 5_000)).text));
    for (const one of consumers) {
      if (one.num_pending + one.num_ack_pending === 0) continue;
      found.push({
        queue: `${kind} ${one.name}`,
        given: one.delivered.stream_seq,
        floor: one.ack_floor.stream_seq,
        notGiven: one.num_pending,
        open: one.num_ack_pending,
        again: one.num_redelivered,
      });
    }
  }
  return found;
};
