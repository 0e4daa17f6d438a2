import type { CallRequest } from '@toolfabric/contract';
import {
  limitsOf,
  type QuotaConfig,
  type RouterShare,
  sliceOf,
  type TenantLimits,
  TokenBucket,
} from '@toolfabric/governance';
import { type Clock, FabricError } from '@toolfabric/kernel';
import { CallsOfTools } from './calls-of-tools.ts';

/** Messages of a tenant in the queue of a kind, as last read. */
export type Queued = ReadonlyMap<string, ReadonlyMap<string, number>>;

/** A tenant that this router has not heard of for so long begins anew, in milliseconds. */
const FORGOTTEN_AFTER_MS = 600_000;
/** A full queue: when it is looked at again. */
const LOOK_AGAIN_MS = 1_000;
/** A look that is wanted earlier waits so long after the last one began. */
const SOONEST_MS = 100;

interface Tenant {
  readonly limits: TenantLimits;
  readonly rate: TokenBucket;
  readonly tools: Map<string, TokenBucket>;
  /** Requests that are being answered. */
  serving: number;
  /** Let in, not known to be over, and not yet seen by a reading of the queues: under which look each came. */
  readonly entered: Map<string, number>;
  lastAt: number;
  /** When a refusal was last told as an event. */
  toldAt: number;
}

export interface QuotaDeps {
  readonly config: QuotaConfig;
  readonly clock: Clock;
  readonly share: () => RouterShare;
  readonly isOver: (tenant: string, callId: string) => Promise<boolean>;
}

const limited = (message: string, retryAfterMs: number): FabricError =>
  new FabricError('rate_limited', message, { retryAfterMs });

/** To be called once: whether a call came of it. */
export type Leave = (isAccepted: boolean) => void;

type Request = Pick<CallRequest, 'actor' | 'tool'>;

/**
 * What each tenant, and each tool for it, may take of this router (RT-6): a rate, requests at once, and calls in flight.
 * A router holds its share of each quota; calls in flight are read from the queues each second, and earlier when they
 * may become too many, so that no counter can be lost (protocol 10). Between two readings what this router let in counts
 * beside it, until the router hears of its end. Needs no round trip.
 */
export class Quotas {
  readonly #deps: QuotaDeps;
  readonly #tenants = new Map<string, Tenant>();
  readonly #calls: CallsOfTools;
  #queued: Queued = new Map();
  /** Looks that began; the last one, and the next one that is due. */
  #looks = 0;
  #lookedAt = Number.NEGATIVE_INFINITY;
  #isWanted = false;

  constructor(deps: QuotaDeps) {
    this.#deps = deps;
    this.#calls = new CallsOfTools(deps.isOver);
  }

  /** Throws `rate_limited` with the time to wait; otherwise the request is in until it leaves. */
  enter({ actor, tool: reference }: Request, callId: string): Leave {
    const tool = reference.split('@')[0] ?? '';
    const tenant = this.#tenant(actor.tenant);
    const now = this.#deps.clock.monotonic();
    this.#checkRoom(actor.tenant, tenant);
    this.#checkTool(actor.tenant, tenant, tool, now);
    const { routers } = this.#deps.share();
    const wait = tenant.rate.take(shared(tenant.limits, routers), now);
    if (wait > 0) throw limited(`this tenant may make ${tenant.limits.perSecond} calls in a second`, wait);
    const isCapped = tenant.limits.tools.get(tool)?.inFlight !== undefined;
    if (isCapped) this.#calls.enter(actor.tenant, tool, callId);
    tenant.serving += 1;
    tenant.entered.set(callId, this.#looks);
    return (isAccepted) => {
      tenant.serving -= 1;
      if (!isAccepted) tenant.entered.delete(callId);
      if (isCapped) this.#calls.leave(actor.tenant, tool, callId, isAccepted);
    };
  }

  /** A call of which this router knows that it ended: it takes no room any more. */
  over(name: string, tool: string, callId: string): void {
    this.#tenants.get(name)?.entered.delete(callId);
    this.#calls.over(name, tool, callId);
  }

  /** Throws `rate_limited` when the queue of a pool holds as much of this tenant as it may. */
  checkPool(name: string, kind: string): void {
    const { limits, entered } = this.#tenant(name);
    const { queuedPerPool } = limits;
    const waiting = this.#queued.get(name)?.get(kind) ?? 0;
    if (entered.size <= sliceOf(queuedPerPool, waiting, this.#deps.share())) return;
    this.#isWanted = true;
    throw limited(
      `the queue of ${kind} holds ${waiting} calls of this tenant, and may hold ${queuedPerPool}`,
      LOOK_AGAIN_MS,
    );
  }

  /** Whether a refusal may be told as an event: once a second and tenant. */
  mayTell(name: string): boolean {
    const tenant = this.#tenant(name);
    const now = this.#deps.clock.monotonic();
    if (now - tenant.toldAt < 1_000) return false;
    tenant.toldAt = now;
    return true;
  }

  /** Whether a second has gone by since the last look, or somebody needs the next one earlier. */
  isDue(): boolean {
    const since = this.#deps.clock.monotonic() - this.#lookedAt;
    return since >= LOOK_AGAIN_MS || (this.#isWanted && since >= SOONEST_MS);
  }

  /** One look at the queues, and at the calls of tools with a cap of their own. When it fails, nothing is forgotten. */
  async look(read: () => Promise<Queued>): Promise<void> {
    this.#lookedAt = this.#deps.clock.monotonic();
    this.#isWanted = false;
    this.#looks += 1;
    const look = this.#looks;
    this.#queued = await read();
    for (const { entered } of this.#tenants.values())
      for (const [callId, under] of entered) if (under < look) entered.delete(callId);
    const before = this.#deps.clock.monotonic() - FORGOTTEN_AFTER_MS;
    for (const [name, { lastAt, serving }] of this.#tenants)
      if (lastAt < before && serving === 0) this.#tenants.delete(name);
    await this.#calls.look();
  }

  #tenant(name: string): Tenant {
    const known = this.#tenants.get(name);
    const tenant: Tenant = known ?? {
      limits: limitsOf(this.#deps.config, name),
      rate: new TokenBucket(),
      tools: new Map(),
      serving: 0,
      entered: new Map(),
      lastAt: 0,
      toldAt: Number.NEGATIVE_INFINITY,
    };
    tenant.lastAt = this.#deps.clock.monotonic();
    if (known === undefined) this.#tenants.set(name, tenant);
    return tenant;
  }

  #checkRoom(name: string, { limits, serving, entered }: Tenant): void {
    if (serving >= limits.requests)
      throw limited(`this router answers ${limits.requests} requests of one tenant at once`, LOOK_AGAIN_MS);
    const used = [...(this.#queued.get(name)?.values() ?? [])].reduce((sum, count) => sum + count, 0);
    const slice = sliceOf(limits.inFlight, used, this.#deps.share());
    // What is left may look smaller than it is: others heard of the ends, or a reading is old.
    if (entered.size * 2 >= slice) this.#isWanted = true;
    if (entered.size >= slice) throw limited(`this tenant may have ${limits.inFlight} calls in flight`, LOOK_AGAIN_MS);
  }

  #checkTool(name: string, tenant: Tenant, tool: string, now: number): void {
    const quota = tenant.limits.tools.get(tool);
    if (quota === undefined) return;
    const { routers, rank } = this.#deps.share();
    const most = quota.inFlight;
    if (most !== undefined && this.#calls.count(name, tool) >= sliceOf(most, 0, { routers, rank })) {
      this.#isWanted = true;
      throw limited(`this tenant may have ${most} calls of ${tool} in flight`, LOOK_AGAIN_MS);
    }
    if (quota.perSecond === undefined) return;
    const bucket = tenant.tools.get(tool) ?? new TokenBucket();
    tenant.tools.set(tool, bucket);
    const rate = { perSecond: quota.perSecond, burst: quota.burst ?? quota.perSecond };
    const wait = bucket.take(shared(rate, routers), now);
    if (wait > 0) throw limited(`this tenant may make ${quota.perSecond} calls of ${tool} in a second`, wait);
  }
}

const shared = ({ perSecond, burst }: { perSecond: number; burst: number }, routers: number) => ({
  perSecond: perSecond / routers,
  burst: burst / routers,
});
