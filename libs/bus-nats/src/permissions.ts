import { RING_SLOTS } from '@toolfabric/contract';
import {
  ANY_CONSUMER,
  ackSubject,
  BUCKETS,
  bucketPrefix,
  bucketStream,
  CORE_API,
  claimBucket,
  consumerInfoSubject,
  DOOR_BELL,
  DOOR_BUCKETS,
  EGRESS_RPC_PREFIX,
  EGRESS_USER,
  EVERY_DOOR,
  eventStreams,
  everyControlSubject,
  IMPORTED_API,
  inboxPrefix,
  kindAccount,
  ledgerBucket,
  lifeBucket,
  messageDeleteSubject,
  messageGetSubject,
  nextSubject,
  RESULT_CONSUMER,
  resultStream,
  streamInfoSubject,
  TRACE_CONSUMER,
  TRACE_RPC_PREFIX,
  workerUser,
  workStream,
} from './subjects.ts';

/**
 * Who may do what on the bus, as data. Only `CORE` has streams. Everybody else lives in an account without streams and
 * reaches CORE through the services listed here, so that the reply subject of a request, which no permission covers,
 * stays inside the asker's own account.
 */
export interface UserRights {
  readonly user: string;
  readonly publish: readonly string[];
  readonly subscribe: readonly string[];
}

/** A subject of another account that one may use; `as` is its name there when it differs. */
export interface Share {
  readonly subject: string;
  /** The account that owns it; CORE when left out. */
  readonly from?: string;
  readonly as?: string;
}

export interface AccountRights {
  readonly account: string;
  readonly streams: boolean;
  readonly users: readonly UserRights[];
  /** Requests that this account may send into another. */
  readonly services: readonly Share[];
  /** Messages of another account that this one may hear. */
  readonly feeds: readonly Share[];
}

export const CORE_ACCOUNT = 'CORE';
export const GATEWAY_ACCOUNT = 'GATEWAY';
export const ARTIFACTS_ACCOUNT = 'ARTIFACTS';
export const TRACE_ACCOUNT = 'TRACE';
export const EGRESS_ACCOUNT = 'EGRESS';
export const PROBE_STREAM = 'PROBE_FEATURES';

const slots = Array.from({ length: RING_SLOTS }, (_, slot) => slot);
const ownInbox = (user: string): string => `${inboxPrefix(user)}.>`;
const plain = (subject: string): Share => ({ subject });

/** A request to the stream interface, under another name: the plain one is taken by every account's own. */
const api = (make: (prefix: string) => string): Share => ({ subject: make(CORE_API), as: make(IMPORTED_API) });

/** Answers to requests that came from another account. */
const ANSWERS = '_R_.>';

const progressOf = (kind: string): string => `progress.${kind}.*.*`;

const workerAccount = (kind: string): AccountRights => {
  const user = workerUser(kind);
  const stream = workStream(kind);
  const buckets = slots.map((slot) => claimBucket(kind, slot));
  const readable = [...buckets, lifeBucket(kind)].map(bucketStream).concat(resultStream(kind));
  const services = [
    // Its high, its low and its pinned work: a pool is one trust domain, so that its workers may pull each other's pins.
    api((prefix) => nextSubject(prefix, stream, ANY_CONSUMER)),
    ...readable.map((name) => api((prefix) => messageGetSubject(prefix, name))),
    plain(ackSubject(stream, ANY_CONSUMER)),
    ...slots.map((slot) => plain(`${bucketPrefix(claimBucket(kind, slot))}claim.${kind}.${slot}.*.*`)),
    plain(`${bucketPrefix(lifeBucket(kind))}live.${kind}.*`),
    plain(`result.${kind}.*.*.*`),
    plain(`dead.${kind}.*`),
    plain(`event.${user}.*`),
  ];
  return {
    account: kindAccount(kind),
    streams: false,
    users: [
      {
        user,
        publish: [...services.map((share) => share.as ?? share.subject), progressOf(kind)],
        subscribe: [ownInbox(user), everyControlSubject(kind)],
      },
    ],
    services,
    feeds: [plain(everyControlSubject(kind))],
  };
};

/** Progress comes from the workers' accounts directly: a service import does not feed a stream import. */
const gatewayAccount = (kinds: readonly string[]): AccountRights => {
  const services: Share[] = [
    ...['rpc.router.*', 'event.gateway.*'].map(plain),
    { subject: `${TRACE_RPC_PREFIX}*`, from: TRACE_ACCOUNT },
    { subject: `${EGRESS_RPC_PREFIX}*`, from: EGRESS_ACCOUNT },
  ];
  const feeds = [
    plain('settled.*.*'),
    ...kinds.map((kind) => ({ subject: progressOf(kind), from: kindAccount(kind) })),
  ];
  return {
    account: GATEWAY_ACCOUNT,
    streams: false,
    users: [
      {
        user: 'gateway',
        publish: services.map((share) => share.subject),
        subscribe: [ownInbox('gateway'), 'settled.*.*', 'progress.*.*.*'],
      },
    ],
    services,
    feeds,
  };
};

/** Everything else that the artifact store does comes in over its own port. */
const artifactsAccount = (): AccountRights => {
  const own = plain('event.artifacts.*');
  const user = { user: 'artifacts', publish: [own.subject], subscribe: [ownInbox('artifacts')] };
  return { account: ARTIFACTS_ACCOUNT, streams: false, users: [user], services: [own], feeds: [] };
};

/**
 * Keeps the credentials and their sealed secrets, which nobody else can read; of the floors it may only know, and its
 * life sign is all of the rest that it writes.
 */
const egressAccount = (): AccountRights => {
  const { floors, lives, credentials, vault } = DOOR_BUCKETS;
  const written = [lives, credentials, vault];
  const services = [
    ...[floors, ...written].map((name) => api((prefix) => messageGetSubject(prefix, bucketStream(name)))),
    ...[credentials, vault].flatMap((name) => [
      api((prefix) => streamInfoSubject(prefix, bucketStream(name))),
      api((prefix) => messageDeleteSubject(prefix, bucketStream(name))),
    ]),
    ...written.map((name) => plain(`${bucketPrefix(name)}>`)),
    plain(`event.${EGRESS_USER}.*`),
  ];
  return {
    account: EGRESS_ACCOUNT,
    streams: false,
    users: [
      {
        user: EGRESS_USER,
        publish: [...services.map((share) => share.as ?? share.subject), ANSWERS],
        subscribe: [ownInbox(EGRESS_USER), `${EGRESS_RPC_PREFIX}*`, EVERY_DOOR, DOOR_BELL],
      },
    ],
    services,
    feeds: [plain(DOOR_BELL)],
  };
};

/** Takes events and answers questions: it can write nothing into any stream. */
const traceAccount = (kinds: readonly string[]): AccountRights => {
  const services = eventStreams(kinds).flatMap((stream) => [
    api((prefix) => nextSubject(prefix, stream, TRACE_CONSUMER)),
    api((prefix) => consumerInfoSubject(prefix, stream, TRACE_CONSUMER)),
    plain(ackSubject(stream, TRACE_CONSUMER)),
  ]);
  return {
    account: TRACE_ACCOUNT,
    streams: false,
    users: [
      {
        user: 'trace-writer',
        publish: [...services.map((share) => share.as ?? share.subject), ANSWERS],
        subscribe: [ownInbox('trace-writer'), `${TRACE_RPC_PREFIX}*`],
      },
    ],
    services,
    feeds: [],
  };
};

/** Records that are taken away when they are no longer needed; all others are only ever moved on. */
const REMOVABLE = [BUCKETS.open, BUCKETS.operations, BUCKETS.leases];

const router = (kinds: readonly string[]): UserRights => {
  const lives = [...kinds.map(lifeBucket), DOOR_BUCKETS.lives];
  const buckets = [
    ...slots.map(ledgerBucket),
    DOOR_BUCKETS.floors,
    ...Object.values(BUCKETS),
    ...kinds.flatMap((kind) => slots.map((slot) => claimBucket(kind, slot))),
    ...lives,
  ];
  const readable = [
    ...[...buckets, DOOR_BUCKETS.credentials].map(bucketStream),
    ...kinds.flatMap((kind) => [workStream(kind), resultStream(kind)]),
  ];
  return {
    user: 'router',
    publish: [
      ...buckets.map((bucket) => `${bucketPrefix(bucket)}>`),
      ...readable.map((stream) => messageGetSubject(CORE_API, stream)),
      ...buckets.map((bucket) => streamInfoSubject(CORE_API, bucketStream(bucket))),
      ...[...REMOVABLE, ...lives].map((bucket) => messageDeleteSubject(CORE_API, bucketStream(bucket))),
      ...kinds.flatMap((kind) => [
        `work.${kind}.>`,
        // How much of each tenant waits there.
        streamInfoSubject(CORE_API, workStream(kind)),
        // A message that was sent to the pin slot of a worker that died, so that nobody else would get it.
        messageDeleteSubject(CORE_API, workStream(kind)),
        `result.${kind}.*.*.*`,
        everyControlSubject(kind),
        nextSubject(CORE_API, resultStream(kind), RESULT_CONSUMER),
        ackSubject(resultStream(kind), RESULT_CONSUMER),
      ]),
      'event.router.*',
      EVERY_DOOR,
      DOOR_BELL,
      'settled.*.*',
      ANSWERS,
    ],
    subscribe: [ownInbox('router'), 'rpc.router.*'],
  };
};

/**
 * The only one that creates streams and consumers. It reads no record, and deletes nothing but its own probe and work that
 * was acknowledged.
 */
const provisioner = (kinds: readonly string[]): UserRights => ({
  user: 'provisioner',
  publish: [
    'INFO',
    'STREAM.CREATE.*',
    'STREAM.UPDATE.*',
    'STREAM.INFO.*',
    'STREAM.NAMES',
    'STREAM.LIST',
    'STREAM.PURGE.*',
    `STREAM.DELETE.${PROBE_STREAM}`,
    'CONSUMER.CREATE.>',
    'CONSUMER.DURABLE.CREATE.*.*',
    'CONSUMER.INFO.*.*',
    'CONSUMER.NAMES.*',
    'CONSUMER.LIST.*',
  ]
    .map((verb) => `${CORE_API}.${verb}`)
    .concat(
      kinds
        .map(workStream)
        .flatMap((stream) => [messageGetSubject(CORE_API, stream), messageDeleteSubject(CORE_API, stream)]),
    ),
  subscribe: [ownInbox('provisioner')],
});

export const permissionsFor = (kinds: readonly string[]): AccountRights[] => [
  {
    account: CORE_ACCOUNT,
    streams: true,
    users: [router(kinds), provisioner(kinds)],
    services: [{ subject: EVERY_DOOR, from: EGRESS_ACCOUNT }],
    feeds: [],
  },
  gatewayAccount(kinds),
  artifactsAccount(),
  egressAccount(),
  traceAccount(kinds),
  ...kinds.map(workerAccount),
];

export const usersFor = (kinds: readonly string[]): string[] =>
  permissionsFor(kinds).flatMap((account) => account.users.map((rights) => rights.user));
