import {
  ApprovalRecord,
  CallRecord,
  Claim,
  DoorLife,
  EgressClosed,
  EgressFloor,
  LifeSign,
  OpenEntry,
  OperationRecord,
  PinLease,
  RegistryRecord,
  ResourceLease,
  RING_SLOTS,
  ShardLease,
  TaintRecord,
  TaskRecord,
  TaskUse,
  UnknownEntry,
  WEEK_MS,
} from '@toolfabric/contract';
import type { Changed, Doors, LedgerPorts, ResultFeed, RouterFront, Store } from '@toolfabric/ports';
import type { z } from 'zod';
import { usedShare } from './answers.ts';
import { askService } from './ask-service.ts';
import { claimFamily, ledgerFamily } from './bucket-families.ts';
import { type BusConfig, type BusConnection, withConnection } from './bus-connection.ts';
import { createEventLog } from './event-log.ts';
import { HopSeals, type Seal } from './hop-seal.ts';
import { type BusLink, openLink } from './link.ts';
import { type QueuedWork, queuedWork } from './queued-work.ts';
import { type BucketFamily, oneBucket, RecordStore } from './record-store.ts';
import { createResultFeed } from './result-feed.ts';
import { createResults } from './results.ts';
import { serveRequests } from './serve-requests.ts';
import {
  BUCKETS,
  bellPlace,
  bucketStream,
  CORE_API,
  claimBucket,
  controlSubject,
  DOOR_BELL,
  DOOR_BUCKETS,
  doorSubject,
  EGRESS_USER,
  GATEWAY_USER,
  ledgerBucket,
  lifeBucket,
  noticePlace,
  ROUTER_USER,
  RPC_PREFIX,
  RPC_QUEUE,
  settledSubject,
  streamInfoSubject,
  TRACE_USER,
  workerUser,
} from './subjects.ts';
import { createWorkOutbox } from './work-outbox.ts';

/** The router's whole side of the bus. */
export interface LedgerBus extends LedgerPorts, RouterFront, BusConnection {
  /** The results of one kind; all routers share its messages. */
  resultFeed(kind: string): ResultFeed;
  /** The first approval of any tenant that was written after a revision and still stands so. */
  nextApproval(revision: number): Promise<Changed<ApprovalRecord> | undefined>;
  /** The greatest share of its bytes that a stream of records uses, from 0 to 1; a full one takes no record that grows. */
  fill(kinds: readonly string[]): Promise<number>;
  /** What is known of credentials; nothing secret. */
  credentials<T>(schema: z.ZodType<T>): Pick<Store<T>, 'get'>;
  /** Work messages that wait or are being run, by tenant and kind. */
  queued(kinds: readonly string[]): Promise<QueuedWork>;
}

const createFront = (link: BusLink, hops: HopSeals): RouterFront => {
  const gateway = hops.with(GATEWAY_USER);
  return {
    serve: (handler) => serveRequests(link, RPC_PREFIX, RPC_QUEUE, { hops, asker: GATEWAY_USER }, handler),
    settled(notice) {
      const subject = settledSubject(notice.actor.tenant, notice.view.callId);
      link.publish(subject, gateway.close(noticePlace(subject), JSON.stringify(notice)));
    },
  };
};

const greatestFill = async (link: BusLink, kinds: readonly string[]): Promise<number> => {
  // New calls go into the slots of this week and soon of the next: a full old slot is no reason to refuse them.
  const week = Math.floor(Date.now() / WEEK_MS);
  const slots = [week % RING_SLOTS, (week + 1) % RING_SLOTS];
  const claims = kinds.flatMap((kind) => slots.map((slot) => claimBucket(kind, slot)));
  const buckets = [
    ...slots.map(ledgerBucket),
    ...claims,
    BUCKETS.open,
    BUCKETS.operations,
    BUCKETS.tasks,
    BUCKETS.approvals,
  ];
  const shares = await Promise.all(
    buckets.map((bucket) => usedShare(link, streamInfoSubject(CORE_API, bucketStream(bucket)))),
  );
  return Math.max(0, ...shares);
};

const createDoors = (link: BusLink, hops: HopSeals): Doors => {
  const seal = hops.with(EGRESS_USER);
  const store = <T>(bucket: string, schema: z.ZodType<T>) =>
    new RecordStore(link, CORE_API, oneBucket(bucket), schema, { hops, seal });
  const asked = { link, hops, peer: EGRESS_USER, otherwise: 'the egress did not answer' };
  return {
    floors: store(DOOR_BUCKETS.floors, EgressFloor),
    lives: store(DOOR_BUCKETS.lives, DoorLife),
    ring: (revocation) => link.publish(DOOR_BELL, seal.close(bellPlace(DOOR_BELL), JSON.stringify(revocation))),
    async close(incarnation, revocation, timeoutMs) {
      try {
        const text = await askService(asked, doorSubject(incarnation), JSON.stringify(revocation), timeoutMs);
        return EgressClosed.safeParse(JSON.parse(text)).success;
      } catch {
        return false;
      }
    },
  };
};

const memo = <T>(make: (kind: string) => T): ((kind: string) => T) => {
  const made = new Map<string, T>();
  return (kind) => {
    const value = made.get(kind) ?? make(kind);
    made.set(kind, value);
    return value;
  };
};

export interface LedgerBusConfig extends BusConfig {
  /** Shared by all routers and known to nobody else: makes the message ids of their events unguessable. */
  readonly eventSecret?: string;
}

export const connectLedger = async (config: LedgerBusConfig): Promise<LedgerBus> => {
  const hops = new HopSeals({ ...config, user: ROUTER_USER });
  const sealOf = (kind: string): Seal => hops.with(workerUser(kind));
  const trace = hops.with(TRACE_USER);
  const link = await openLink({ ...config, user: ROUTER_USER });
  const store = <T>(bucket: string, schema: z.ZodType<T>) => new RecordStore(link, CORE_API, oneBucket(bucket), schema);
  /** What the workers of a kind write too. */
  const shared = <T>(kind: string, family: BucketFamily, schema: z.ZodType<T>) =>
    new RecordStore(link, CORE_API, family, schema, { hops, seal: sealOf(kind) });
  const approvals = store(BUCKETS.approvals, ApprovalRecord);
  const ports: Omit<LedgerBus, keyof BusConnection> = {
    doors: createDoors(link, hops),
    credentials: (schema) =>
      new RecordStore(link, CORE_API, oneBucket(DOOR_BUCKETS.credentials), schema, {
        hops,
        seal: hops.with(EGRESS_USER),
      }),
    calls: new RecordStore(link, CORE_API, ledgerFamily, CallRecord),
    open: store(BUCKETS.open, OpenEntry),
    operations: store(BUCKETS.operations, OperationRecord),
    unknowns: store(BUCKETS.operations, UnknownEntry),
    approvals,
    nextApproval: (revision: number) => approvals.next('approval', revision),
    tasks: store(BUCKETS.tasks, TaskRecord),
    registry: store(BUCKETS.registry, RegistryRecord),
    leases: store(BUCKETS.leases, ShardLease),
    uses: store(BUCKETS.tasks, TaskUse),
    taints: store(BUCKETS.tasks, TaintRecord),
    resources: store(BUCKETS.leases, ResourceLease),
    claims: memo((kind) => shared(kind, claimFamily(kind), Claim)),
    lives: memo((kind) => shared(kind, oneBucket(lifeBucket(kind)), LifeSign)),
    pins: memo((kind) => shared(kind, oneBucket(lifeBucket(kind)), PinLease)),
    work: createWorkOutbox(link),
    results: createResults(link, CORE_API, hops, sealOf),
    events: createEventLog(link, trace, config.eventSecret),
    bells: {
      ring(kind: string, callId: string) {
        const subject = controlSubject(kind, 'all');
        link.publish(subject, sealOf(kind).close(bellPlace(subject), callId));
      },
    },
    resultFeed: (kind: string) => createResultFeed(link, ROUTER_USER, kind, hops, sealOf(kind)),
    fill: (kinds: readonly string[]) => greatestFill(link, kinds),
    queued: (kinds: readonly string[]) => queuedWork(link, kinds),
    ...createFront(link, hops),
  };
  return withConnection(link, hops, ports);
};
