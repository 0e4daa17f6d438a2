import type { PinLease } from '@toolfabric/contract';
import { changeRecord, lifeKey, pinKey, pinSlot } from '@toolfabric/ledger';
import { StoreUnavailable } from '@toolfabric/ports';
import type { WorkerContext } from './worker-context.ts';

export interface HeldPin {
  readonly slot: string;
  /** Lets another worker have it at once. */
  giveUp(): Promise<void>;
}

/** Milliseconds that a busy store is waited for, at one slot. */
const PATIENCE_MS = 2_000;

/** A holder signs of its life before it takes a slot; one that is not alive holds nothing any more (protocol 10). */
const isHeld = async (ctx: WorkerContext, lease: PinLease | undefined): Promise<boolean> => {
  if (lease === undefined || lease.holder === '') return false;
  const life = await ctx.ports.lives.get(lifeKey(ctx.kind, lease.holder));
  return life?.value.state === 'alive';
};

const take = async (ctx: WorkerContext, slot: string): Promise<boolean> => {
  const key = pinKey(ctx.kind, slot);
  const seen = await ctx.ports.pins.get(key);
  if (await isHeld(ctx, seen?.value)) return false;
  const change = await changeRecord(
    ctx.ports.pins,
    key,
    (lease) => (lease?.holder === seen?.value.holder ? { holder: ctx.incarnation, since: ctx.clock.now() } : undefined),
    { clock: ctx.clock, patienceMs: PATIENCE_MS },
  );
  return change.done;
};

const giveUp = (ctx: WorkerContext, slot: string) =>
  changeRecord(
    ctx.ports.pins,
    pinKey(ctx.kind, slot),
    (lease) => (lease?.holder === ctx.incarnation ? { holder: '', since: ctx.clock.now() } : undefined),
    { clock: ctx.clock, patienceMs: ctx.pace.lifeBeatMs },
  );

/**
 * Leases the first pin slot that nobody living holds (protocol 12). The lease itself is never renewed: its holder lives
 * as long as its life sign does. Without a slot a worker runs what anybody may run. One that was never provisioned is
 * not taken, and said.
 */
export const holdPin = async (ctx: WorkerContext, slots: number): Promise<HeldPin | undefined> => {
  try {
    for (let index = 0; index < slots; index += 1) {
      const slot = pinSlot(index);
      if ((await ctx.ports.source.hasPin?.(slot)) === false) {
        // Work for such a slot would lie where nobody can take it.
        ctx.log.error('pin.not_provisioned', { kind: ctx.kind, configured: slots, provisioned: index });
        break;
      }
      if (!(await take(ctx, slot))) continue;
      return { slot, giveUp: () => giveUp(ctx, slot).then(noop, noop) };
    }
  } catch (thrown) {
    if (!(thrown instanceof StoreUnavailable)) throw thrown;
  }
  if (slots > 0) ctx.log.warn('pin.none', { kind: ctx.kind, slots });
  return undefined;
};

const noop = (): void => {};
