import {
  type ApprovalRecord,
  type CallRecord,
  type Claim,
  type DoorLife,
  type EgressFloor,
  type EgressRevocation,
  type FabricEvent,
  type LifeSign,
  type OpenEntry,
  type OperationRecord,
  type PinLease,
  type RegistryRecord,
  type ResourceLease,
  ResultMessage,
  type ShardLease,
  type TaintRecord,
  type TaskRecord,
  type TaskUse,
  type UnknownEntry,
  WorkBody,
} from '@toolfabric/contract';
import type { Pace, Signer, Verifier } from '@toolfabric/kernel';
import { callToken, isLive } from '@toolfabric/ledger';
import { type Delivery, type LedgerPorts, QueueFull, type Store, type WorkerPorts } from '@toolfabric/ports';
import type { Violations } from './invariants.ts';
import type { Scheduler } from './scheduler.ts';
import type { SimDoor } from './sim-door.ts';
import type { SimProcess } from './sim-process.ts';
import { SimBucket, type SimConsumer, SimStream } from './sim-server.ts';
import type { Sabotage } from './world.ts';

export const KIND = 'sim';

/** Times of the simulation: only their order matters, and few beats make a fast run. */
export const SIM_PACE: Pace = {
  ackWaitMs: 4_000,
  heartbeatMs: 1_500,
  lifeBeatMs: 1_200,
  deadAfterMs: 5_000,
  sweepEveryMs: 2_000,
  openGraceMs: 2_500,
  leaseBeatMs: 1_000,
  leaseDeadAfterMs: 5_000,
  rpcAttemptMs: 3_000,
  waitPollMs: 1_000,
  probeFirstMs: 800,
  retryFirstMs: 600,
  nakDelayMs: 700,
  drainMs: 5_000,
};

/** The simulation does not test cryptography: a signature is a constant that only these two know. */
export const simSigner: Signer = { kid: 'sim', sign: (type, body) => ({ type, kid: 'sim', sig: 'ok', body }) };
export const simVerifier: Verifier = {
  open: (envelope, type) => (envelope.type === type && envelope.sig === 'ok' ? envelope.body : undefined),
};

interface Sent {
  readonly callId: string;
  readonly epoch: number;
  readonly tenant: string;
  readonly mode: string;
  readonly background: boolean;
}

/** The server of the simulation: buckets, streams, and what the invariants are checked against. */
export class SimCluster {
  readonly scheduler: Scheduler;
  readonly calls: SimBucket<CallRecord>;
  readonly open = new SimBucket<OpenEntry>();
  readonly operations = new SimBucket<OperationRecord>();
  readonly unknowns = new SimBucket<UnknownEntry>();
  readonly approvals = new SimBucket<ApprovalRecord>();
  readonly claims: SimBucket<Claim>;
  readonly lives = new SimBucket<LifeSign>();
  readonly floors = new SimBucket<EgressFloor>();
  readonly doorLives = new SimBucket<DoorLife>();
  /** Living and dead, by their incarnation. */
  readonly doors = new Map<string, SimDoor>();
  readonly leases = new SimBucket<ShardLease>();
  readonly pins = new SimBucket<PinLease>();
  readonly tasks = new SimBucket<TaskRecord>();
  readonly uses = new SimBucket<TaskUse>();
  readonly taints = new SimBucket<TaintRecord>();
  readonly resources = new SimBucket<ResourceLease>();
  readonly registry = new SimBucket<RegistryRecord>();
  readonly work: SimStream;
  readonly resultStream: SimStream;
  readonly results = new Map<string, ResultMessage>();
  readonly events = new Map<string, FabricEvent>();
  readonly dead = new Set<number>();
  readonly sent = new Map<number, Sent>();
  readonly bells = new Map<SimProcess, (callId: string) => void>();
  readonly violations: Violations;

  readonly #acksEarly: (sent: Sent) => boolean;
  readonly #forgetsDead: boolean;

  constructor(scheduler: Scheduler, violations: Violations, capacity: number, sabotage: Sabotage | undefined) {
    this.#forgetsDead = sabotage === 'dead_fence';
    this.#acksEarly = ({ background }) =>
      sabotage === 'early_ack' || (sabotage === 'early_background_ack' && background);
    this.claims = new SimBucket(
      (_key, before, after) => violations.onClaimWrite(this, before, after),
      sabotage === 'blind_store',
    );
    this.scheduler = scheduler;
    this.violations = violations;
    this.calls = new SimBucket((_key, before, after) => violations.onCallWrite(before, after));
    this.work = new SimStream(scheduler, SIM_PACE.ackWaitMs, capacity);
    this.resultStream = new SimStream(scheduler, SIM_PACE.ackWaitMs, Number.POSITIVE_INFINITY);
  }

  callOf(callId: string): CallRecord | undefined {
    return [...this.calls.values.values()].find((stored) => stored.value.callId === callId)?.value;
  }

  claimOf(callId: string): Claim | undefined {
    for (const [key, stored] of this.claims.values) if (key.endsWith(`.${callToken(callId)}`)) return stored.value;
    return undefined;
  }

  /** Whether the process behind an incarnation still may say that it lives. */
  isAlive(incarnation: string): boolean {
    const life = [...this.lives.values.values()].find((stored) => stored.value.incarnation === incarnation);
    return life?.value.state === 'alive';
  }

  /** Whether it holds an execution whose message was acknowledged. */
  holdsAcknowledged(incarnation: string): boolean {
    return [...this.claims.values.values()].some(
      ({ value }) => isLive(value) && value.incarnation === incarnation && !this.work.has(value.sequence),
    );
  }

  #publishWork(subject: string, data: Uint8Array, id: string): { sequence: number; duplicate: boolean } {
    if (this.work.isFull) throw new QueueFull(subject);
    const body = WorkBody.parse(JSON.parse(JSON.parse(Buffer.from(data).toString()).body));
    this.violations.onWorkPublished(body, this.callOf(body.parentCallId ?? body.callId));
    const stored = this.work.publish(subject, data, id);
    const { callId, epoch, tenant, mode, background = false } = body;
    if (!stored.duplicate) this.sent.set(stored.sequence, { callId, epoch, tenant, mode, background });
    return stored;
  }

  #resultKey(callId: string, epoch: number): string {
    return `result.${KIND}.acme.${callToken(callId)}.${epoch}`;
  }

  hasResult(callId: string, epoch: number): boolean {
    return this.results.has(this.#resultKey(callId, epoch));
  }

  #createResult(message: ResultMessage): { created: boolean; message: ResultMessage } {
    const subject = this.#resultKey(message.callId, message.epoch);
    const before = this.results.get(subject);
    if (before) return { created: false, message: before };
    const parsed = ResultMessage.parse(message);
    this.results.set(subject, parsed);
    this.resultStream.publish(subject, Buffer.from(JSON.stringify(parsed)));
    return { created: true, message: parsed };
  }

  #results(process: SimProcess): LedgerPorts['results'] {
    return {
      createOnce: (_kind, message) => process.request(() => this.#createResult(message)),
      get: (_kind, _tenant, callId, epoch) => process.request(() => this.results.get(this.#resultKey(callId, epoch))),
    };
  }

  #events(process: SimProcess): LedgerPorts['events'] {
    return {
      emit: (event) => process.send(() => void this.events.set(event.id, event)),
      store: (event) => process.request(() => void this.events.set(event.id, event)),
    };
  }

  /** Sabotage: what died is taken for something that has sent nothing. */
  #doorLives(process: SimProcess): Store<DoorLife> {
    const lives = this.doorLives.through(process);
    if (!this.#forgetsDead) return lives;
    const get = async (key: string) => {
      const life = await lives.get(key);
      return life?.value.state === 'dead' ? { ...life, value: { ...life.value, state: 'drained' as const } } : life;
    };
    return { ...lives, get };
  }

  /** One question of a router to a door, and its answer, either of which may never come. */
  #closeDoor(process: SimProcess, incarnation: string, revocation: EgressRevocation, timeoutMs: number) {
    return new Promise<boolean>((resolve) => {
      this.scheduler.after(timeoutMs, () => process.deliver(() => resolve(false)));
      const door = this.doors.get(incarnation);
      process.send(() =>
        door?.process.deliver(() => {
          door.revoke(revocation);
          door.process.send(() => process.deliver(() => resolve(true)));
        }),
      );
    });
  }

  ledgerPorts(process: SimProcess): LedgerPorts {
    return {
      doors: {
        floors: this.floors.through(process),
        lives: this.#doorLives(process),
        ring: (revocation) =>
          process.send(() => {
            for (const door of this.doors.values()) door.process.deliver(() => void door.revoke(revocation));
          }),
        close: (incarnation, revocation, timeoutMs) => this.#closeDoor(process, incarnation, revocation, timeoutMs),
      },
      calls: this.calls.through(process),
      open: this.open.through(process),
      operations: this.operations.through(process),
      unknowns: this.unknowns.through(process),
      approvals: this.approvals.through(process),
      tasks: this.tasks.through(process),
      registry: this.registry.through(process),
      leases: this.leases.through(process),
      uses: this.uses.through(process),
      taints: this.taints.through(process),
      resources: this.resources.through(process),
      claims: () => this.claims.through(process),
      lives: () => this.lives.through(process),
      pins: () => this.pins.through(process),
      work: {
        publish: (_kind, subject, id, data) => process.request(() => this.#publishWork(subject, data, id)),
        has: (_kind, sequence) => process.request(() => this.work.has(sequence)),
        remove: (_kind, sequence, subject) => process.request(() => this.work.remove(sequence, subject)),
      },
      results: this.#results(process),
      events: this.#events(process),
      bells: {
        ring: (_kind, callId) =>
          process.send(() => {
            for (const [worker, listener] of this.bells) worker.deliver(() => listener(callId));
          }),
      },
    };
  }

  workerPorts(process: SimProcess): WorkerPorts {
    return {
      claims: this.claims.through(process),
      lives: this.lives.through(process),
      pins: this.pins.through(process),
      results: this.#results(process),
      events: this.#events(process),
      source: {
        run: (slots, onDelivery, signal, pin) =>
          this.#consume(process, this.work, slots, onDelivery, signal, true, pin),
      },
      deadLetter: (_tenant, letter) => process.request(() => void this.dead.add(letter.sequence)),
      progress: () => {},
      onBell: (listener) => void this.bells.set(process, listener),
    };
  }

  feedResults(
    process: SimProcess,
    onDelivery: (delivery: Delivery) => Promise<void>,
    signal: AbortSignal,
  ): Promise<void> {
    return this.#consume(process, this.resultStream, 8, onDelivery, signal, false);
  }

  #consume(
    process: SimProcess,
    stream: SimStream,
    slots: number,
    onDelivery: (delivery: Delivery) => Promise<void>,
    signal: AbortSignal,
    isWork: boolean,
    pin?: string,
  ): Promise<void> {
    let busy = 0;
    return new Promise((resolve) => {
      const consumer: SimConsumer = {
        process,
        free: () => busy < slots && !signal.aborted,
        wants: (subject) => !subject.includes('.pin.') || subject.split('.')[3] === pin,
        take: (message) => {
          if (busy >= slots || signal.aborted) return stream.delay(message.sequence, 0);
          busy += 1;
          const sent = this.sent.get(message.sequence);
          if (isWork && sent && this.#acksEarly(sent))
            process.send(() => this.#acknowledge(stream, message.sequence, isWork));
          void onDelivery(this.#delivery(process, stream, message, isWork)).then(() => {
            busy -= 1;
            if (signal.aborted && busy === 0) resolve();
          });
        },
      };
      stream.consumers.add(consumer);
      signal.addEventListener('abort', () => {
        stream.consumers.delete(consumer);
        if (busy === 0) resolve();
      });
    });
  }

  #acknowledge(stream: SimStream, sequence: number, isWork: boolean): void {
    const sent = this.sent.get(sequence);
    if (isWork && sent && stream.has(sequence)) this.violations.onWorkAcknowledged(this, sequence, sent);
    stream.acknowledge(sequence);
  }

  #delivery(
    process: SimProcess,
    stream: SimStream,
    message: Pick<Delivery, 'subject' | 'data' | 'sequence' | 'deliveryCount'>,
    isWork: boolean,
  ): Delivery {
    const { sequence } = message;
    const acknowledge = () => this.#acknowledge(stream, sequence, isWork);
    return {
      ...message,
      ack: () => process.send(acknowledge),
      ackSync: () => process.request(acknowledge),
      nak: (delayMs) => process.send(() => stream.delay(sequence, delayMs)),
      working: () => process.send(() => stream.delay(sequence, SIM_PACE.ackWaitMs)),
    };
  }
}
