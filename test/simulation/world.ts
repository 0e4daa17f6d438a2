import type { EgressPermit, Outcome } from '@toolfabric/contract';
import { FabricError } from '@toolfabric/kernel';
import { errorOutcome } from '@toolfabric/ledger';
import { type AnyTool, defineTool, type ToolContext } from '@toolfabric/worker-runtime';
import { z } from 'zod';
import type { Scheduler } from './scheduler.ts';
import type { SimDoor } from './sim-door.ts';
import type { SimProcess } from './sim-process.ts';

export interface TruthEntry {
  /** What must happen once: the operation, or the call when there is none. */
  readonly identity: string;
  readonly callId: string;
  readonly argsHash: string;
  readonly at: number;
}

/** A rule of the outside that is broken on purpose, to see that the invariants notice. */
export type Sabotage =
  | 'blind_store'
  | 'open_lock'
  | 'no_dedupe'
  | 'early_ack'
  | 'early_background_ack'
  | 'hasty_death'
  | 'false_denial'
  | 'lax_contract'
  | 'deaf_door'
  | 'blind_door'
  | 'dead_fence';

/** The world outside: what really happened, whoever believes what. */
export class World {
  readonly truth: TruthEntry[] = [];
  /** Holders of the kernel lock of the workspace; freed by the death of the process, kept by its pause. */
  readonly locks = new Map<string, SimProcess>();
  readonly scheduler: Scheduler;
  readonly #sabotage: Sabotage | undefined;

  constructor(scheduler: Scheduler, sabotage: Sabotage | undefined) {
    this.scheduler = scheduler;
    this.#sabotage = sabotage;
  }

  has(identity: string): boolean {
    return this.truth.some((entry) => entry.identity === identity);
  }

  /** An egress that says it has closed what it has not. */
  get isDeaf(): boolean {
    return this.#sabotage === 'deaf_door';
  }

  /** Whether an egress looks at the stored floor of a call before it opens a permit of it. */
  get readsFloors(): boolean {
    return this.#sabotage !== 'blind_door';
  }

  /** A tool that wrote, and says that it did nothing and may be tried again. */
  get deniesWrites(): boolean {
    return this.#sabotage === 'false_denial';
  }

  /** What the deduplicating peer does with a key that it has seen. */
  isDuplicate(identity: string): boolean {
    return this.#sabotage !== 'no_dedupe' && this.has(identity);
  }

  count(identity: string): number {
    return this.truth.filter((entry) => entry.identity === identity).length;
  }

  /** A kernel lock excludes a second holder in the same process too. */
  isLocked(name: string): boolean {
    return this.#sabotage !== 'open_lock' && this.locks.get(name)?.alive === true;
  }
}

/** Simulated milliseconds that a call in the background may take: beyond the acknowledge wait, and beyond its limit. */
const LONGEST_MS = 9_000;
const USUAL_MS = 5_800;

/** What a call does beside its effect. */
const takeTime = (world: World, ctx: ToolContext, mostMs: number): Promise<void> => {
  const { random } = world.scheduler;
  const most = ctx.background ? (random.chance(0.1) ? LONGEST_MS : USUAL_MS) : mostMs;
  return ctx.clock.sleep(random.between(1, most), ctx.signal);
};

const Args = z.strictObject({ identity: z.string(), argsHash: z.string() });
type Args = z.infer<typeof Args>;

/** What a tool says of itself: now and then that it failed, or something that its contract does not know. */
const answer = (world: World): { failed: boolean | string } => {
  const { random } = world.scheduler;
  return { failed: random.chance(0.05) ? 'perhaps' : random.chance(0.15) };
};

const done = (world: World, identity: string): Outcome => ({
  status: 'ok',
  summary: 'done',
  data: answer(world),
  sideEffect: 'confirmed',
  trust: 'trusted',
  evidence: [{ kind: 'truth', ref: identity }],
});

/** Now and then a tool does nothing, for a reason that passes by itself. */
const passing = (world: World): Outcome | undefined => {
  const { random } = world.scheduler;
  return random.chance(0.15) ? errorOutcome(random.pick(['unavailable', 'overloaded', 'worker_drained'])) : undefined;
};

/** A request to the outside: once sent it arrives, even when its sender dies or is paused in the meantime. */
const sendOutside = (
  world: World,
  process: SimProcess,
  ctx: ToolContext,
  args: Args,
  once: boolean,
): Promise<boolean> =>
  new Promise((resolve) => {
    if (!process.alive) return;
    const { scheduler } = world;
    const entry: TruthEntry = {
      identity: args.identity,
      callId: ctx.callId,
      argsHash: args.argsHash,
      at: scheduler.now,
    };
    const receiptLost = scheduler.random.chance(0.15);
    // Now and then a request is stuck on its way for longer than it takes to declare its sender dead.
    const delay = scheduler.random.chance(0.1)
      ? scheduler.random.between(600, 25_000)
      : scheduler.random.between(1, 600);
    scheduler.after(delay, () => {
      if (!(once && world.isDuplicate(args.identity))) world.truth.push(entry);
      scheduler.after(scheduler.random.between(1, 100), () => process.deliver(() => resolve(!receiptLost)));
    });
  });

const outside = (handler: string, world: World, process: SimProcess, once: boolean, probed: boolean): AnyTool =>
  defineTool<Args>({
    handler,
    effect: 'outside',
    args: Args,
    async handle(ctx, args) {
      await takeTime(world, ctx, 400);
      if (ctx.signal.aborted) throw ctx.signal.reason;
      const failed = passing(world);
      if (failed) return failed;
      await ctx.beginEffect({ identity: args.identity });
      const receipt = await sendOutside(world, process, ctx, args, once);
      const denial = world.deniesWrites ? passing(world) : undefined;
      if (denial) return denial;
      if (!receipt) throw new Error('receipt lost');
      if (ctx.background) await takeTime(world, ctx, 0);
      ctx.faults.at('worker.after-write');
      return done(world, args.identity);
    },
    ...(probed
      ? {
          async probe(_ctx: ToolContext, args: Args) {
            return world.has(args.identity)
              ? ({ answer: 'found', receipt: done(world, args.identity) } as const)
              : ({ answer: 'absent', fence: once } as const);
          },
        }
      : {}),
  });

/** A request through the egress of the worker's pod, which a router can close. The other side deduplicates nothing. */
const throughDoor = (world: World, process: SimProcess, door: () => SimDoor | undefined): AnyTool =>
  defineTool<Args>({
    handler: 'sim.fenced',
    effect: 'outside',
    args: Args,
    async handle(ctx, args) {
      await takeTime(world, ctx, 400);
      if (ctx.signal.aborted) throw ctx.signal.reason;
      const failed = passing(world);
      if (failed) return failed;
      await ctx.beginEffect({ identity: args.identity });
      const entry = { identity: args.identity, callId: ctx.callId, argsHash: args.argsHash };
      await askDoor(world, process, door, ctx, entry);
      ctx.faults.at('worker.after-write');
      return done(world, args.identity);
    },
    // A worker may say what it likes of the way out: only what a router saw counts.
    probe: async (_ctx, args) =>
      world.has(args.identity)
        ? { answer: 'found', receipt: done(world, args.identity) }
        : { answer: 'absent', fence: true },
  });

/** Rejects when no receipt came; what the door was given may still arrive. */
const askDoor = (
  world: World,
  process: SimProcess,
  doorNow: () => SimDoor | undefined,
  ctx: ToolContext,
  entry: Omit<TruthEntry, 'at'>,
): Promise<void> =>
  new Promise((resolve, reject) => {
    const { scheduler } = world;
    const { random } = scheduler;
    const fail = () => process.deliver(() => reject(new Error('no receipt')));
    const onArrival = () => {
      world.truth.push({ ...entry, at: scheduler.now });
      if (!random.chance(0.15)) scheduler.after(random.between(1, 100), () => process.deliver(resolve));
    };
    scheduler.after(3_000, fail);
    const permit = { callId: ctx.callId, epoch: ctx.epoch, actor: ctx.actor } as EgressPermit;
    // From the worker to whichever door there is when it comes: once sent it is under way without its sender.
    scheduler.after(random.chance(0.25) ? random.between(600, 25_000) : random.between(1, 200), () => {
      const door = doorNow();
      if (door === undefined) return fail();
      door.process.deliver(() => void door.send(permit, onArrival).then((went) => went || fail(), fail));
    });
  });

/** A write in the own process under the kernel lock of the workspace. */
const workspaceWrite = (world: World, process: SimProcess): AnyTool =>
  defineTool<Args>({
    handler: 'sim.workspace',
    effect: 'workspace',
    args: Args,
    async handle(ctx, args) {
      const lock = `lock:${args.identity}`;
      if (ctx.background) await takeTime(world, ctx, 0);
      if (ctx.signal.aborted) throw ctx.signal.reason;
      const failed = passing(world);
      if (failed) return failed;
      if (world.isLocked(lock)) throw new FabricError('workspace_busy', 'locked');
      world.locks.set(lock, process);
      try {
        await ctx.beginEffect({ identity: args.identity });
        await ctx.clock.sleep(world.scheduler.random.between(1, 300));
        world.truth.push({ ...args, callId: ctx.callId, at: world.scheduler.now });
        ctx.faults.at('worker.after-write');
        await ctx.clock.sleep(1);
        return done(world, args.identity);
      } finally {
        world.locks.delete(lock);
      }
    },
    async probe(_ctx, args) {
      if (world.isLocked(`lock:${args.identity}`)) return { answer: 'not_visible', reason: 'locked' };
      return world.has(args.identity)
        ? { answer: 'found', receipt: done(world, args.identity) }
        : { answer: 'absent', fence: true };
    },
  });

const read = (handler: string, world: World): AnyTool =>
  defineTool<Args>({
    handler,
    effect: 'none',
    args: Args,
    async handle(ctx) {
      await takeTime(world, ctx, 800);
      if (ctx.signal.aborted) throw ctx.signal.reason;
      const failed = passing(world);
      if (failed) return failed;
      return { status: 'ok', summary: 'read', data: answer(world), sideEffect: 'none', trust: 'untrusted' };
    },
  });

export const simTools = (world: World, process: SimProcess, door: () => SimDoor | undefined): AnyTool[] => [
  read('sim.read', world),
  read('sim.claimed_read', world),
  outside('sim.blind', world, process, false, false),
  outside('sim.probed', world, process, false, true),
  outside('sim.deduped', world, process, true, true),
  workspaceWrite(world, process),
  throughDoor(world, process, door),
];
