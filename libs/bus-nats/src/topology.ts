import type { ConsumerConfig, StreamConfig } from '@nats-io/jetstream';
import { RING_SLOTS } from '@toolfabric/contract';
import type { Pace } from '@toolfabric/kernel';
import type { Sizes } from './sizes.ts';
import {
  BUCKETS,
  bucketPrefix,
  bucketStream,
  claimBucket,
  DEAD_STREAM,
  DOOR_BUCKETS,
  EGRESS_USER,
  EVENT_STREAM,
  eventStream,
  ledgerBucket,
  lifeBucket,
  pinConsumer,
  pinSlotName,
  RESULT_CONSUMER,
  resultStream,
  TRACE_CONSUMER,
  WORK_CONSUMERS,
  workerUser,
  workStream,
} from './subjects.ts';

/** Raised with every change of a name, subject or policy below; a server that shows a later one is left alone. */
export const TOPOLOGY_VERSION = 4;
/** Bytes of one stored message. A call record holds arguments and a result, so it is larger than a message in flight. */
export const MAX_STORED_BYTES = 160 * 1024;

export interface StreamSpec {
  readonly name: string;
  /** Exactly the fields that must be found on the server again. */
  readonly config: Partial<StreamConfig> & { name: string; subjects: string[]; max_bytes: number };
  readonly consumers: readonly (Partial<ConsumerConfig> & { durable_name: string })[];
}

export interface Topology {
  readonly version: number;
  readonly streams: readonly StreamSpec[];
  /** Sum of all that the streams may hold, in bytes. */
  readonly totalBytes: number;
}

const SECOND_NS = 1_000_000_000;
const DAY_NS = 86_400 * SECOND_NS;
const DUPLICATE_WINDOW_NS = 150 * SECOND_NS;

export const topologyMark = (version: number): string => `toolfabric topology ${version}`;

const base = (name: string, subjects: string[], maxBytes: number, replicas: number) => ({
  name,
  subjects,
  description: topologyMark(TOPOLOGY_VERSION),
  max_bytes: maxBytes,
  max_msg_size: MAX_STORED_BYTES,
  num_replicas: replicas,
  storage: 'file' as const,
  duplicate_window: DUPLICATE_WINDOW_NS,
  /** Reads go to the leader: a stale answer must never look like a fact. */
  allow_direct: false,
});

const consumer = (name: string, ackWaitMs: number): Partial<ConsumerConfig> & { durable_name: string } => ({
  durable_name: name,
  ack_policy: 'explicit',
  deliver_policy: 'all',
  ack_wait: ackWaitMs * 1_000_000,
  /** Poison is the router's business: it counts epochs (protocol 6). */
  max_deliver: -1,
  max_ack_pending: 100_000,
  max_waiting: 16_384,
});

/** Full subject or full stream: refused, so that one tenant cannot fill the queue of another. */
const work = (kind: string, pace: Pace, sizes: Sizes): StreamSpec => ({
  name: workStream(kind),
  config: {
    ...base(
      workStream(kind),
      [...WORK_CONSUMERS.map((priority) => `work.${kind}.${priority}.*`), `work.${kind}.pin.*.*`],
      sizes.work,
      sizes.replicas,
    ),
    retention: 'workqueue',
    discard: 'new',
    discard_new_per_subject: true,
    max_msgs_per_subject: sizes.workMessagesPerSubject,
  },
  consumers: [
    ...WORK_CONSUMERS.map((priority) => ({
      ...consumer(priority, pace.ackWaitMs),
      filter_subject: `work.${kind}.${priority}.*`,
    })),
    ...Array.from({ length: sizes.pinSlots }, (_, index) => pinSlotName(index)).map((slot) => ({
      ...consumer(pinConsumer(slot), pace.ackWaitMs),
      filter_subject: `work.${kind}.pin.${slot}.*`,
    })),
  ],
});

/**
 * Created once by the writers' expected sequence 0 (protocol 8). A full stream drops its oldest messages: those were
 * settled long ago, whereas a worker that cannot finish would stop the kind.
 */
const results = (kind: string, pace: Pace, sizes: Sizes): StreamSpec => ({
  name: resultStream(kind),
  config: {
    ...base(resultStream(kind), [`result.${kind}.*.*.*`], sizes.results, sizes.replicas),
    retention: 'limits',
    discard: 'old',
    max_msgs_per_subject: 1,
    max_age: 7 * DAY_NS,
  },
  consumers: [consumer(RESULT_CONSUMER, pace.ackWaitMs)],
});

const log = (name: string, subjects: string[], maxBytes: number, days: number, replicas: number): StreamSpec => ({
  name,
  config: {
    ...base(name, subjects, maxBytes, replicas),
    retention: 'limits',
    discard: 'old',
    max_age: days * DAY_NS,
  },
  consumers: [],
});

/** Events stay for their days, whether the trace writer has taken them or not. */
const events = (service: string | undefined, bytes: number, pace: Pace, sizes: Sizes): StreamSpec => ({
  ...log(
    service === undefined ? EVENT_STREAM : eventStream(service),
    [`event.${service ?? 'router'}.*`],
    bytes,
    7,
    sizes.replicas,
  ),
  consumers: [consumer(TRACE_CONSUMER, pace.ackWaitMs)],
});

/** A stream that the key-value clients of the bus understand, with one value a key. */
const bucket = (name: string, maxBytes: number, replicas: number, days?: number): StreamSpec => ({
  name: bucketStream(name),
  config: {
    ...base(bucketStream(name), [`${bucketPrefix(name)}>`], maxBytes, replicas),
    retention: 'limits',
    discard: 'new',
    max_msgs_per_subject: 1,
    allow_rollup_hdrs: false,
    ...(days === undefined ? {} : { max_age: days * DAY_NS }),
  },
  consumers: [],
});

const slots = Array.from({ length: RING_SLOTS }, (_, slot) => slot);

const serviceEvents = (sizes: Sizes): number => Math.floor(sizes.events / 4);

const ofKind = (kind: string, pace: Pace, sizes: Sizes): StreamSpec[] => [
  work(kind, pace, sizes),
  results(kind, pace, sizes),
  events(workerUser(kind), serviceEvents(sizes), pace, sizes),
  ...slots.map((slot) => bucket(claimBucket(kind, slot), sizes.claimSlot, sizes.replicas)),
  bucket(lifeBucket(kind), sizes.lives, sizes.replicas),
];

/** The router's events, among them the ends of calls, stand apart: no other service can push them out. */
const shared = (pace: Pace, sizes: Sizes): StreamSpec[] => [
  events(undefined, sizes.events, pace, sizes),
  events('gateway', serviceEvents(sizes), pace, sizes),
  events('artifacts', serviceEvents(sizes), pace, sizes),
  events(EGRESS_USER, serviceEvents(sizes), pace, sizes),
  log(DEAD_STREAM, ['dead.*.*'], sizes.dead, 30, sizes.replicas),
  ...slots.map((slot) => bucket(ledgerBucket(slot), sizes.ledgerSlot, sizes.replicas)),
  bucket(BUCKETS.open, sizes.open, sizes.replicas),
  bucket(BUCKETS.operations, sizes.operations, sizes.replicas),
  bucket(BUCKETS.approvals, sizes.approvals, sizes.replicas),
  bucket(BUCKETS.tasks, sizes.tasks, sizes.replicas),
  bucket(BUCKETS.registry, sizes.registry, sizes.replicas),
  bucket(BUCKETS.leases, sizes.leases, sizes.replicas),
  // A permit ends with its call; a floor outlives it.
  bucket(DOOR_BUCKETS.floors, sizes.open, sizes.replicas, 7),
  bucket(DOOR_BUCKETS.lives, sizes.lives, sizes.replicas),
  bucket(DOOR_BUCKETS.credentials, sizes.registry, sizes.replicas),
  bucket(DOOR_BUCKETS.vault, sizes.registry, sizes.replicas),
];

/** Streams, consumers and buckets as data, for these kinds (pools). */
export const topologyFor = (kinds: readonly string[], pace: Pace, sizes: Sizes): Topology => {
  const streams = [...shared(pace, sizes), ...kinds.flatMap((kind) => ofKind(kind, pace, sizes))];
  return {
    version: TOPOLOGY_VERSION,
    streams,
    totalBytes: streams.reduce((sum, stream) => sum + stream.config.max_bytes, 0),
  };
};
