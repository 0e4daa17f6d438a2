import type {
  ApprovalRecord,
  CallRecord,
  Claim,
  DeadLetter,
  DoorLife,
  EgressFloor,
  EgressRevocation,
  FabricEvent,
  LifeSign,
  OpenEntry,
  OperationRecord,
  PinLease,
  RegistryRecord,
  ResourceLease,
  ResultMessage,
  ShardLease,
  TaintRecord,
  TaskRecord,
  TaskUse,
  UnknownEntry,
} from '@toolfabric/contract';
import type { Store } from './stores.ts';

/** The stream or the subject is full: nothing was stored. */
export class QueueFull extends Error {
  override readonly name = 'QueueFull';
}

export interface Stored {
  readonly sequence: number;
  /** The message id was seen before: nothing new was stored, `sequence` is that of the first. */
  readonly duplicate: boolean;
}

/** The router's side of work. Subjects are made by `subjects.ts` of the bus adapter and by `workSubject` of the ledger. */
export interface WorkOutbox {
  /** Throws `QueueFull`, or `StoreUnavailable` when it is not known whether the message was stored. */
  publish(kind: string, subject: string, messageId: string, body: Uint8Array): Promise<Stored>;
  /** Whether a work message is still in the stream of that kind, delivered or not. */
  has(kind: string, sequence: number): Promise<boolean>;
  /** Takes away the message of that sequence when it stands on `subject`; true when it was there. */
  remove(kind: string, sequence: number, subject: string): Promise<boolean>;
}

/** Results: one message a subject, created once. */
export interface Results {
  /** `created: false` when the subject had one; that one then stands in `message`. */
  createOnce(kind: string, message: ResultMessage): Promise<{ created: boolean; message: ResultMessage }>;
  get(kind: string, tenant: string, callId: string, epoch: number): Promise<ResultMessage | undefined>;
}

/** One message as a consumer of a durable queue sees it. */
export interface Delivery {
  readonly subject: string;
  readonly data: Uint8Array;
  readonly sequence: number;
  /** From 1. */
  readonly deliveryCount: number;
  /** Milliseconds since the epoch by the clock of the server, where it is known. */
  readonly storedAt?: number;
  /** Fire and forget; a lost one is repaired by the next delivery. */
  ack(): void;
  /** Resolves when the server has confirmed it. */
  ackSync(): Promise<void>;
  nak(delayMs: number): void;
  /** Tells the server that this delivery is still being worked on. */
  working(): void;
}

/** Free places ask for work; nothing is fetched ahead. */
export interface WorkSource {
  /**
   * Calls `onDelivery` at most `slots` times at once; the promise that it returns frees the place. Resolves when
   * `signal` is aborted and the last of them has ended. `pin` is the pin slot whose work is taken too.
   */
  run(
    slots: number,
    onDelivery: (delivery: Delivery) => Promise<void>,
    signal: AbortSignal,
    pin?: string,
  ): Promise<void>;
  /** Whether work of a pin slot can be taken: false where nobody provisioned it, undefined when that cannot be told. Not every source can. */
  hasPin?(pin: string): Promise<boolean | undefined>;
}

/** Results as the router takes them in; the routers share one durable consumer a kind. */
export interface ResultFeed {
  run(inFlight: number, onDelivery: (delivery: Delivery) => Promise<void>, signal: AbortSignal): Promise<void>;
}

export interface EventFeedOptions {
  /** Events of one stream that may be taken and not yet acknowledged. */
  readonly inFlight: number;
  /** Of these, how many are asked for at once. */
  readonly ahead: number;
  /** Milliseconds between two looks at a stream that has nothing more: what comes meanwhile is taken together. */
  readonly everyMs: number;
  /** Asked before more is fetched; looked at again whenever an event was finished. */
  hasRoom(): boolean;
}

/** How far behind the reader of one event stream is, in events. */
export interface EventLag {
  readonly stream: string;
  readonly waiting: number;
  /** Taken and not yet acknowledged. */
  readonly unacknowledged: number;
}

/** The events of every service, as the trace writer takes them in; each comes again until it is acknowledged. */
export interface EventFeed {
  /** Resolves when `signal` is aborted and the last promise of `onDelivery` has ended. */
  run(options: EventFeedOptions, onDelivery: (delivery: Delivery) => Promise<void>, signal: AbortSignal): Promise<void>;
  /** Throws `StoreUnavailable`. */
  lag(): Promise<EventLag[]>;
}

export interface EventLog {
  /** Fire and forget. */
  emit(event: FabricEvent): void;
  /** Resolves when the event is stored; the same event id is stored once. */
  store(event: FabricEvent): Promise<void>;
}

/** Core messages: lossy hints, never the only way to learn something. */
export interface Bells {
  /** Rings every worker of the kind: look at the claim of this call again. */
  ring(kind: string, callId: string): void;
}

/** The router's way to the egress processes. */
export interface Doors {
  readonly floors: Store<EgressFloor>;
  readonly lives: Store<DoorLife>;
  /** A lossy hint to all of them. */
  ring(revocation: EgressRevocation): void;
  /** Asks one of them to close; true when it answered that everything is closed, false when it did not answer in time. */
  close(incarnation: string, revocation: EgressRevocation, timeoutMs: number): Promise<boolean>;
}

/** Everything the router's procedures need from the outside. */
export interface LedgerPorts {
  readonly calls: Store<CallRecord>;
  readonly open: Store<OpenEntry>;
  readonly operations: Store<OperationRecord>;
  readonly unknowns: Store<UnknownEntry>;
  readonly approvals: Store<ApprovalRecord>;
  readonly tasks: Store<TaskRecord>;
  readonly registry: Store<RegistryRecord>;
  readonly leases: Store<ShardLease>;
  /** What the calls of a task have taken; beside the tasks. */
  readonly uses: Store<TaskUse>;
  /** What an agent has read from outside; beside the tasks. */
  readonly taints: Store<TaintRecord>;
  /** Who writes a resource outside; beside the leases of shards. */
  readonly resources: Store<ResourceLease>;
  claims(kind: string): Store<Claim>;
  lives(kind: string): Store<LifeSign>;
  /** Leases of pin slots; they stand beside the life signs. */
  pins(kind: string): Store<PinLease>;
  readonly work: WorkOutbox;
  readonly results: Results;
  readonly events: EventLog;
  readonly bells: Bells;
  readonly doors: Doors;
}

/** Everything a worker's runtime needs from the outside: its own kind and nothing else. */
export interface WorkerPorts {
  readonly claims: Store<Claim>;
  readonly lives: Store<LifeSign>;
  readonly pins: Store<PinLease>;
  readonly results: Results;
  readonly source: WorkSource;
  readonly events: EventLog;
  /** Copies a refused message away; resolves when it is stored. */
  deadLetter(tenant: string, letter: DeadLetter): Promise<void>;
  progress(tenant: string, callId: string, message: string, fraction?: number): void;
  /** Calls back with the callId at every bell of this kind. */
  onBell(listener: (callId: string) => void): void;
}
