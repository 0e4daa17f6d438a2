import type { CallRecord } from '@toolfabric/contract';
import type { FaultPoint, Faults, Logger } from '@toolfabric/kernel';
import { approvalKey, isFinal } from '@toolfabric/ledger';
import { type RunningWorker, runWorker } from '@toolfabric/worker-runtime';
import { stopCall } from '../../apps/router/src/cancel-call.ts';
import { readCall } from '../../apps/router/src/change-call.ts';
import type { RouterContext } from '../../apps/router/src/router-context.ts';
import { settleDelivery } from '../../apps/router/src/settle-call.ts';
import { startCall } from '../../apps/router/src/start-call.ts';
import { sweepShard } from '../../apps/router/src/sweep-open.ts';
import { Violations } from './invariants.ts';
import { planTrouble } from './plan-trouble.ts';
import { type Random, Scheduler } from './scheduler.ts';
import { ACTOR, PIN_SLOTS, simApproval, simCall } from './sim-call.ts';
import { KIND, SIM_PACE, SimCluster, simVerifier } from './sim-cluster.ts';
import { laxContract, SIM_CONTRACT } from './sim-contract.ts';
import { SimDoor } from './sim-door.ts';
import { SimProcess } from './sim-process.ts';
import { simRouter } from './sim-router.ts';
import { type SimulationReport, statesOf } from './simulation-report.ts';
import { type Sabotage, simTools, World } from './world.ts';

export type { Sabotage } from './world.ts';

const LAX_CONTRACT = laxContract();
const SECRET = new Uint8Array(32);
/** Simulated milliseconds in which faults happen; after it everything must come to rest. */
const TROUBLE_MS = 25_000;
const REST_MS = 400_000;
/** Fewer than workers, so that two of them share one. */
const DOORS = 2;

interface Router {
  readonly process: SimProcess;
  readonly ctx: RouterContext;
}

/** One whole run: services, callers, a person, and trouble, all from one seed. */
class Simulation {
  readonly scheduler: Scheduler;
  readonly random: Random;
  readonly violations = new Violations();
  readonly world: World;
  readonly cluster: SimCluster;
  readonly routers: Router[] = [];
  readonly workers: SimProcess[] = [];
  readonly doors: SimDoor[] = [];
  readonly #running = new Map<SimProcess, RunningWorker>();
  readonly accepted = new Set<string>();
  readonly calls: CallRecord[] = [];
  kills = 0;
  #pending = 0;
  #upAt = 0;
  #names = 0;
  readonly #loss: number;
  /** One of the routers does not know what the contract says about outcomes. */
  readonly #isLax: boolean;
  /** Takes an acknowledged message for a sign of death. */
  readonly #isHasty: boolean;

  constructor(seed: number, sabotage: Sabotage | undefined) {
    this.scheduler = new Scheduler(seed);
    this.random = this.scheduler.random;
    this.world = new World(this.scheduler, sabotage);
    this.#isLax = sabotage === 'lax_contract';
    this.#isHasty = sabotage === 'hasty_death';
    this.#loss = this.random.pick([0, 0.01, 0.05, 0.12]);
    const capacity = this.random.chance(0.1) ? 2 : 1_000;
    this.cluster = new SimCluster(this.scheduler, this.violations, capacity, sabotage);
  }

  /** What the procedures catch and log must be a lost answer; anything else is a fault of theirs. */
  readonly #log: Logger = {
    info: () => {},
    warn: (event, fields) => this.violations.onLogged(event, fields),
    error: (event, fields) => this.violations.onLogged(event, fields),
  };

  get #troubled(): boolean {
    return this.scheduler.now < TROUBLE_MS;
  }

  #process(name: string): SimProcess {
    this.#names += 1;
    const loss = () => (this.#troubled ? this.#loss : 0);
    const network = {
      get lostRequest() {
        return loss();
      },
      get lostReply() {
        return loss();
      },
      delayMs: 8,
      timeoutMs: 400,
      isUp: () => this.scheduler.now >= this.#upAt,
    };
    return new SimProcess(`${name}-${this.#names}`, this.scheduler, network, this.random.between(-8_000, 8_000));
  }

  /** Now and then a fault point kills or pauses its process, exactly there. */
  #faults(process: SimProcess, respawn: () => void): Faults {
    return {
      at: (_point: FaultPoint) => {
        if (!process.alive || !this.#troubled) return;
        if (this.random.chance(0.015)) this.#kill(process, respawn);
        else if (this.random.chance(0.02)) process.pause(this.random.between(500, 18_000));
      },
    };
  }

  #kill(process: SimProcess, respawn: () => void): void {
    if (!process.alive) return;
    this.kills += 1;
    process.kill();
    this.scheduler.after(this.random.between(100, 6_000), respawn);
  }

  /** A worker that is told to stop: it drains, and its process ends when it says so. */
  #drain(process: SimProcess, respawn: () => void): void {
    process.deliver(() => {
      const stopping = this.#running.get(process)?.stop();
      void stopping?.then(() => this.#kill(process, respawn));
    });
  }

  spawnRouter(slot: number): void {
    const process = this.#process('router');
    const { ctx, lives, doors } = simRouter({
      process,
      ports: this.cluster.ledgerPorts(process),
      faults: this.#faults(process, () => this.spawnRouter(slot)),
      log: this.#log,
      contract: this.#isLax && slot === 1 ? LAX_CONTRACT : SIM_CONTRACT,
      seemsDead: (incarnation) => this.#isHasty && this.cluster.holdsAcknowledged(incarnation),
    });
    this.routers[slot] = { process, ctx };
    const never = new AbortController().signal;
    void this.cluster.feedResults(process, (delivery) => settleDelivery(ctx, delivery), never);
    void this.#every(process, SIM_PACE.lifeBeatMs, () => lives.look());
    void this.#every(process, SIM_PACE.lifeBeatMs, () => doors.look());
    void this.#every(process, SIM_PACE.sweepEveryMs, () => this.#sweep(ctx));
  }

  async #every(process: SimProcess, ms: number, run: () => Promise<void>): Promise<void> {
    while (process.alive) {
      await process.clock.sleep(this.random.between(ms / 2, ms * 1.5));
      await run().catch(() => {});
    }
  }

  /** Only shards that hold something: an empty one has nothing to simulate. */
  async #sweep(ctx: RouterContext): Promise<void> {
    const shards = new Set([...this.cluster.open.values.keys()].map((key) => Number(key.split('.')[1])));
    for (const shard of shards) await sweepShard(ctx, shard);
  }

  spawnDoor(slot: number): void {
    const process = this.#process('door');
    const door = new SimDoor(process, this.cluster, this.world, this.#log);
    this.doors[slot] = door;
    this.cluster.doors.set(process.name, door);
    const respawn = () => this.spawnDoor(slot);
    void door.live().then(
      () => this.#kill(process, respawn),
      () => this.#kill(process, respawn),
    );
  }

  spawnWorker(slot: number): void {
    const process = this.#process('worker');
    this.workers[slot] = process;
    const respawn = () => this.spawnWorker(slot);
    void runWorker({
      kind: KIND,
      ports: this.cluster.workerPorts(process),
      tools: simTools(this.world, process, () => this.doors[slot % DOORS]),
      verifier: simVerifier,
      pace: SIM_PACE,
      slots: 2,
      pinSlots: PIN_SLOTS,
      backgroundSlots: 1 + (slot % 2),
      redactionSecret: SECRET,
      isolation: ['process'],
      incarnation: process.name,
      clock: process.clock,
      faults: this.#faults(process, respawn),
      log: this.#log,
    }).then(
      (worker) => {
        this.#running.set(process, worker);
        return worker.failed.then(() => this.#kill(process, respawn));
      },
      () => this.#kill(process, respawn),
    );
  }

  /** A caller that sends again, to any router, until it is answered. */
  #submit(record: CallRecord, tries: number): void {
    if (tries === 0) return this.#answered();
    const router = this.random.pick(this.routers);
    let answered = false;
    const again = () => {
      if (!answered) this.#submit(record, tries - 1);
      answered = true;
    };
    this.scheduler.after(3_000, again);
    router.process.deliver(() => {
      startCall(router.ctx, record).then(
        () => {
          if (answered) return;
          answered = true;
          this.#answered();
        },
        () => {},
      );
    });
  }

  #answered(): void {
    this.#pending -= 1;
  }

  #cancel(record: CallRecord): void {
    const { process, ctx } = this.random.pick(this.routers);
    process.deliver(() => {
      readCall(ctx, ACTOR.tenant, record.callId)
        .then((call) => call && stopCall(ctx, call, 'cancelled'))
        .catch(() => {});
    });
  }

  /** The person: grants, denies, or lets it expire. */
  #decide(record: CallRecord): void {
    if (record.approvalId === undefined) return;
    const key = approvalKey(ACTOR.tenant, record.approvalId);
    this.cluster.approvals.write(key, simApproval(record, record.approvalId), 0);
    this.scheduler.after(this.random.between(500, 15_000), () => {
      const stored = this.cluster.approvals.values.get(key);
      if (stored?.value.state !== 'pending') return;
      const state = this.random.chance(0.75) ? 'granted' : 'denied';
      this.cluster.approvals.write(key, { ...stored.value, state }, stored.revision);
    });
  }

  plan(): void {
    const { random, scheduler } = this;
    this.spawnRouter(0);
    this.spawnRouter(1);
    for (let slot = 0; slot < DOORS; slot += 1) this.spawnDoor(slot);
    for (let slot = 0; slot < 3; slot += 1) this.spawnWorker(slot);
    const count = 1 + random.int(5);
    for (let index = 0; index < count; index += 1) {
      const record = simCall(random, index);
      this.calls.push(record);
      this.#pending += 1;
      this.#decide(record);
      const at = random.between(0, 6_000);
      scheduler.after(at, () => this.#submit(record, 8));
      if (random.chance(0.2)) scheduler.after(at + random.between(0, 5_000), () => this.#cancel(record));
    }
    this.#planTrouble();
  }

  #planTrouble(): void {
    planTrouble(this.scheduler, TROUBLE_MS, {
      killWorker: (slot) => {
        const worker = this.workers[slot];
        if (worker) this.#kill(worker, () => this.spawnWorker(slot));
      },
      killRouter: (slot) => {
        const router = this.routers[slot];
        if (router) this.#kill(router.process, () => this.spawnRouter(slot));
      },
      killDoor: (slot) => {
        const door = this.doors[slot];
        if (door) this.#kill(door.process, () => this.spawnDoor(slot));
      },
      drainDoor: (slot) => {
        const door = this.doors[slot];
        door?.process.deliver(
          () =>
            void door.drain().then(
              () => this.#kill(door.process, () => this.spawnDoor(slot)),
              () => {},
            ),
        );
      },
      drainWorker: (slot) => {
        const worker = this.workers[slot];
        if (worker) this.#drain(worker, () => this.spawnWorker(slot));
      },
      pauseSome: (ms) =>
        this.random
          .pick([
            ...this.workers,
            ...this.routers.map(({ process }) => process),
            ...this.doors.map(({ process }) => process),
          ])
          .pause(ms()),
      cutOff: (until) => {
        this.#upAt = until;
      },
    });
  }

  /** Nothing is open, nothing is on its way, and every caller has its answer. */
  isAtRest(): boolean {
    for (const record of this.calls) {
      const call = this.cluster.callOf(record.callId);
      if (call) this.accepted.add(record.callId);
    }
    if (this.#pending > 0 || this.cluster.open.values.size > 0) return false;
    return [...this.accepted].every((callId) => {
      const call = this.cluster.callOf(callId);
      return call !== undefined && (isFinal(call.state) || call.state === 'unknown');
    });
  }

  report(seed: number): SimulationReport {
    this.violations.atEnd(this.cluster, this.world, this.accepted);
    const states = statesOf(this.cluster, this.calls);
    return { seed, violations: this.violations.found, states, events: this.scheduler.events, kills: this.kills };
  }
}

export const simulate = async (seed: number, sabotage?: Sabotage): Promise<SimulationReport> => {
  const simulation = new Simulation(seed, sabotage);
  simulation.plan();
  await simulation.scheduler.run(REST_MS, () => simulation.isAtRest());
  // What was already on its way to the outside must land before the truth is read.
  const lastEvents = simulation.scheduler.now + 40_000;
  await simulation.scheduler.run(lastEvents, () => false);
  return simulation.report(seed);
};
