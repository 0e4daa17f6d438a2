import { randomBytes } from 'node:crypto';
import type { LifeSign } from '@toolfabric/contract';
import {
  type Clock,
  createLogger,
  FabricError,
  type Faults,
  type Logger,
  noFaults,
  noTelemetry,
  type Pace,
  randomId,
  systemClock,
  type Telemetry,
  type Verifier,
} from '@toolfabric/kernel';
import type { ArtifactStore, EgressDoor, WorkerPorts } from '@toolfabric/ports';
import { BackgroundRuns } from './background-runs.ts';
import type { AnyTool } from './define-tool.ts';
import { type HeldPin, holdPin } from './hold-pin.ts';
import { keepAlive, type Life } from './keep-alive.ts';
import { hearPolicy } from './policy-mark.ts';
import { runDelivery } from './run-delivery.ts';
import { GIVE_UP_MS } from './run-tool.ts';
import { Strays } from './strays.ts';
import { RunWatch } from './watch-runs.ts';
import type { WorkerContext } from './worker-context.ts';

export interface WorkerOptions {
  readonly kind: string;
  readonly ports: WorkerPorts;
  readonly tools: readonly AnyTool[];
  readonly verifier: Verifier;
  readonly pace: Pace;
  /** Deliveries that run at once. */
  readonly slots: number;
  /** Isolation levels that this worker really has, for the routing. */
  readonly isolation: readonly string[];
  /** Calls that run apart from their delivery at once; as many as `slots` when left out. */
  readonly backgroundSlots?: number;
  /** Where its workspaces lie, for the routing; nothing is said when left out. */
  readonly storage?: LifeSign['storage'];
  /** Pin slots of its kind, as they were provisioned; with 0, or left out, it takes none. */
  readonly pinSlots?: number;
  readonly artifacts?: ArtifactStore;
  /** The way out of this pod; without it calls that go out are refused. */
  readonly egress?: EgressDoor;
  /** At least 32 bytes, the same in every service; without it the marks of two processes cannot be compared. */
  readonly redactionSecret?: Uint8Array;
  readonly incarnation?: string;
  readonly clock?: Clock;
  readonly faults?: Faults;
  readonly log?: Logger;
  readonly telemetry?: Telemetry;
}

export interface RunningWorker {
  readonly incarnation: string;
  /** Resolves with a reason when the worker had to stop by itself. */
  readonly failed: Promise<string>;
  /**
   * Drains: asks for no more work, lets what runs (within deliveries or apart) go on for `pace.drainMs`, then aborts
   * it, and ends the life sign once nothing runs.
   */
  stop(): Promise<void>;
}

const compile = (options: WorkerOptions): WorkerContext => ({
  kind: options.kind,
  incarnation: options.incarnation ?? `${options.kind}-${randomId()}`,
  ports: options.ports,
  tools: new Map(options.tools.map((tool) => [tool.handler, tool])),
  verifier: options.verifier,
  artifacts: options.artifacts,
  egress: options.egress,
  redactionSecret: options.redactionSecret ?? randomBytes(32),
  clock: options.clock ?? systemClock,
  pace: options.pace,
  faults: options.faults ?? noFaults,
  log: options.log ?? createLogger(`worker-${options.kind}`),
  telemetry: options.telemetry ?? noTelemetry,
  runs: new RunWatch(options.kind, options.telemetry ?? noTelemetry),
  nonce: randomId,
  halt: new AbortController(),
  strays: new Strays(options.slots),
  background: new BackgroundRuns(options.backgroundSlots ?? options.slots),
  policy: { watermark: 0 },
  bells: new Map(),
});

/** Resolves when `work` is done or `ms` have passed. */
const within = async (ctx: WorkerContext, work: Promise<void>, ms: number): Promise<void> => {
  const done = new AbortController();
  await Promise.race([work, ctx.clock.sleep(ms, done.signal)]);
  done.abort();
};

/** A start that fails leaves no sign of a life behind that nobody lives. */
const leasePin = async (ctx: WorkerContext, life: Life, slots: number): Promise<HeldPin | undefined> => {
  let pin: HeldPin | undefined;
  try {
    pin = await holdPin(ctx, slots);
    if (pin) await life.tell({ pin: pin.slot });
    return pin;
  } catch (thrown) {
    await pin?.giveUp();
    await life.end();
    throw thrown;
  }
};

/** One worker process: life sign, deliveries, drain. The order of `stop` is the order of its lines. */
export const runWorker = async (options: WorkerOptions): Promise<RunningWorker> => {
  const ctx = compile(options);
  const stop = new AbortController();
  const { slots, isolation, storage } = options;
  const life = await keepAlive(ctx, {
    slots,
    isolation: [...isolation],
    handlers: [...ctx.tools.keys()],
    ...(storage === undefined ? {} : { storage }),
    ...(options.egress === undefined ? {} : { egress: true }),
  });
  const pin = await leasePin(ctx, life, options.pinSlots ?? 0);
  ctx.ports.onBell((text) => (hearPolicy(ctx, text) ? undefined : ctx.bells.get(text)?.()));
  const taking = ctx.ports.source.run(slots, (delivery) => runDelivery(ctx, delivery), stop.signal, pin?.slot);
  const running = taking.then(() => ctx.background.idle());
  const failed = Promise.race([life.lost, ctx.strays.tooMany]).then((reason) => {
    ctx.log.error('worker.lost', { reason });
    stop.abort();
    ctx.halt.abort(new FabricError('unavailable', 'the worker lost its life sign'));
    return reason;
  });
  return {
    incarnation: ctx.incarnation,
    failed,
    async stop() {
      stop.abort();
      await within(ctx, running, ctx.pace.drainMs);
      ctx.halt.abort(new FabricError('worker_drained', 'the worker was shut down'));
      await within(ctx, running, 2 * GIVE_UP_MS);
      await pin?.giveUp();
      await life.end();
    },
  };
};
