/**
 * Every name on the bus in one place: subjects, streams, buckets, durable consumers. What enters a subject is checked
 * here: a token is `[a-z0-9_-]+`, and a dot only separates tokens.
 */
const TOKEN = /^[a-z0-9_-]{1,128}$/;
const KEY = /^[a-z0-9_-]{1,128}(\.[a-z0-9_-]{1,128}){0,11}$/;
/** A probe's call id: its dot must not split a token. */
const PROBE_SUFFIX = /^(.*-[0-9a-z]{26})\.r(\d{1,4})$/;

export type Priority = 'hi' | 'lo';

/** Throws a `RangeError` on anything that could change the shape of a subject. */
export const checkedToken = (token: string): string => {
  if (!TOKEN.test(token)) throw new RangeError(`not a subject token: ${JSON.stringify(token.slice(0, 80))}`);
  return token;
};

export const callToken = (callId: string): string => checkedToken(callId.replace(PROBE_SUFFIX, '$1_r$2'));

/** A key as a store gets it, checked; a probe's suffix becomes part of the last token. */
export const checkedKey = (key: string): string => {
  const plain = key.replace(PROBE_SUFFIX, '$1_r$2');
  if (!KEY.test(plain)) throw new RangeError(`not a key: ${JSON.stringify(key.slice(0, 120))}`);
  return plain;
};

const upper = (kind: string): string => checkedToken(kind).toUpperCase();

export const workStream = (kind: string): string => `WORK_${upper(kind)}`;
export const resultStream = (kind: string): string => `RESULTS_${upper(kind)}`;
export const EVENT_STREAM = 'EVENTS';
/** Events of one service other than the router. */
export const eventStream = (service: string): string =>
  `EVENTS_${checkedToken(service).toUpperCase().replaceAll('-', '_')}`;
/** Every event stream of these kinds: the router's, and one of each other service that has events. */
export const eventStreams = (kinds: readonly string[]): string[] => [
  EVENT_STREAM,
  ...['gateway', 'artifacts', EGRESS_USER, ...kinds.map(workerUser)].map(eventStream),
];
export const DEAD_STREAM = 'DEAD';

export const ledgerBucket = (slot: number): string => `LEDGER_${slot}`;
export const claimBucket = (kind: string, slot: number): string => `CLAIM_${upper(kind)}_${slot}`;
export const lifeBucket = (kind: string): string => `LIVE_${upper(kind)}`;
export const BUCKETS = {
  open: 'OPEN',
  operations: 'OPS',
  approvals: 'APPROVALS',
  tasks: 'TASKS',
  registry: 'REGISTRY',
  leases: 'LEASES',
} as const;

/** Of the egress processes: what is void, who lives, whose credentials there are, and their sealed secrets. */
export const DOOR_BUCKETS = {
  floors: 'DOOR_FLOORS',
  lives: 'DOOR_LIVES',
  credentials: 'CREDENTIALS',
  vault: 'VAULT',
} as const;

export const bucketStream = (bucket: string): string => `KV_${bucket}`;
export const bucketPrefix = (bucket: string): string => `$KV.${bucket}.`;

/** Durable consumers: two a work stream and one for each of its pin slots, one a result stream, one an event stream. */
export const WORK_CONSUMERS: readonly [Priority, Priority] = ['hi', 'lo'];
export const pinSlotName = (index: number): string => `p${index}`;
export const pinConsumer = (slot: string): string => `pin-${checkedToken(slot)}`;
export const RESULT_CONSUMER = 'router';
export const TRACE_CONSUMER = 'trace';

export const workSubject = (kind: string, priority: Priority, tenant: string): string =>
  `work.${checkedToken(kind)}.${priority}.${checkedToken(tenant)}`;
export const pinnedWorkSubject = (kind: string, slot: string, tenant: string): string =>
  `work.${checkedToken(kind)}.pin.${checkedToken(slot)}.${checkedToken(tenant)}`;
export const resultSubject = (kind: string, tenant: string, callId: string, epoch: number): string =>
  `result.${checkedToken(kind)}.${checkedToken(tenant)}.${callToken(callId)}.${checkedToken(String(epoch))}`;
export const eventSubject = (service: string, tenant: string): string =>
  `event.${checkedToken(service)}.${checkedToken(tenant)}`;
export const deadSubject = (kind: string, tenant: string): string =>
  `dead.${checkedToken(kind)}.${checkedToken(tenant)}`;
export const progressSubject = (kind: string, tenant: string, callId: string): string =>
  `progress.${checkedToken(kind)}.${checkedToken(tenant)}.${callToken(callId)}`;
export const controlSubject = (kind: string, whom: string): string =>
  `control.${checkedToken(kind)}.${checkedToken(whom)}`;
export const everyControlSubject = (kind: string): string => `control.${checkedToken(kind)}.*`;
export const settledSubject = (tenant: string, callId: string): string =>
  `settled.${checkedToken(tenant)}.${callToken(callId)}`;
export const RPC_PREFIX = 'rpc.router.';
export const RPC_QUEUE = 'router';
/** Questions to the trace store. */
export const TRACE_RPC_PREFIX = 'rpc.trace.';
export const TRACE_RPC_QUEUE = 'trace';
/** Requests of the front door to the keeper of credentials. */
export const EGRESS_RPC_PREFIX = 'rpc.egress.';
export const EGRESS_RPC_QUEUE = 'egress';
/** Requests of a router to one egress process, and a bell for all of them. */
export const doorSubject = (incarnation: string): string => `door.${checkedToken(incarnation)}.close`;
export const EVERY_DOOR = 'door.*.close';
export const DOOR_BELL = 'bell.egress.all';

/** Prefix of the stream interface: the server's own, and the name under which accounts without streams import it. */
export const CORE_API = '$JS.API';
export const IMPORTED_API = 'api';

/** Where a connection asks; `prefix` is `CORE_API` or `IMPORTED_API`. */
export const nextSubject = (prefix: string, stream: string, consumer: string): string =>
  `${prefix}.CONSUMER.MSG.NEXT.${stream}.${consumer}`;
export const messageGetSubject = (prefix: string, stream: string): string => `${prefix}.STREAM.MSG.GET.${stream}`;
export const messageDeleteSubject = (prefix: string, stream: string): string => `${prefix}.STREAM.MSG.DELETE.${stream}`;
export const consumerInfoSubject = (prefix: string, stream: string, consumer: string): string =>
  `${prefix}.CONSUMER.INFO.${stream}.${consumer}`;
export const streamInfoSubject = (prefix: string, stream: string): string => `${prefix}.STREAM.INFO.${stream}`;
/** Every consumer of a stream, in the place of a consumer's name. */
export const ANY_CONSUMER = '*';
export const ackSubject = (stream: string, consumer: string): string => `$JS.ACK.${stream}.${consumer}.>`;

export const workerUser = (kind: string): string => `worker-${checkedToken(kind)}`;
export const kindAccount = (kind: string): string => `KIND_${upper(kind)}`;
/** Each user hears its own answers only. */
export const inboxPrefix = (user: string): string => `_INBOX_${checkedToken(user)}`;

/** Names of the services on the bus; those of workers follow from their kind. */
export const ROUTER_USER = 'router';
export const GATEWAY_USER = 'gateway';
export const TRACE_USER = 'trace-writer';
export const EGRESS_USER = 'egress';

/** What the code of a lossy message stands for (ADR 0024). */
export const noticePlace = (subject: string): string => `notice ${subject}`;
export const bellPlace = (subject: string): string => `bell ${subject}`;
