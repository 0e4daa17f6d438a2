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

interface Tenant {
  readonly limits: TenantLimits;
  readonly rate: TokenBucket;
  readonly tools: Map<string, TokenBucket>;
  /** Requests that are being answered. */
  serving: number;
  /** Let in since the queues were last read. */
  entered: number;
  /** Of these, since the reading that is under way began. */
  enteredWhileReading: number;
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

/** To be called once, with the call that came of it where there is one. */
export type Leave = (callId?: string) => void;

/**
 * What each tenant, and each tool for it, may take of this router (RT-6): a rate, requests at once, and calls in flight.
 * A router holds its share of each quota; calls in flight are read from the queues each second and not counted, so that
 * no counter can be lost. Needs no round trip.
 */
export class Quotas {
  readonly #deps: QuotaDeps;
  readonly #tenants = new Map<string, Tenant>();
  readonly #calls: CallsOfTools;
  #queued: Queued = new Map();

  constructor(deps: QuotaDeps) {
    this.#deps = deps;
    this.#calls = new CallsOfTools(deps.isOver);
  }

  /** Throws `rate_limited` with the time to wait; otherwise the request is in until it leaves. */
  enter({ actor, tool: reference }: Pick<CallRequest, 'actor' | 'tool'>): Leave {
    const tool = reference.split('@')[0] ?? '';
    const tenant = this.#tenant(actor.tenant);
    const now = this.#deps.clock.monotonic();
    this.#checkRoom(actor.tenant, tenant);
    this.#checkTool(actor.tenant, tenant, tool, now);
    const { routers } = this.#deps.share();
    const wait = tenant.rate.take(shared(tenant.limits, routers), now);
    if (wait > 0) throw limited(`this tenant may make ${tenant.limits.perSecond} calls in a second`, wait);
    const leaveTool = this.#calls.enter(actor.tenant, tool, tenant.limits.tools.get(tool)?.inFlight);
    tenant.serving += 1;
    tenant.entered += 1;
    tenant.enteredWhileReading += 1;
    return (callId) => {
      tenant.serving -= 1;
      leaveTool(callId);
    };
  }

  /** Throws `rate_limited` when the queue of a pool holds as much of this tenant as it may. */
  checkPool(name: string, kind: string): void {
    const { limits, entered } = this.#tenant(name);
    const { queuedPerPool } = limits;
    const waiting = this.#queued.get(name)?.get(kind) ?? 0;
    if (entered <= sliceOf(queuedPerPool, waiting, this.#deps.share())) return;
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

  /** One look at the queues, and at the calls of tools with a cap of their own. When it fails, nothing is forgotten. */
  async look(read: () => Promise<Queued>): Promise<void> {
    for (const tenant of this.#tenants.values()) tenant.enteredWhileReading = 0;
    this.#queued = await read();
    for (const tenant of this.#tenants.values()) tenant.entered = tenant.enteredWhileReading;
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
      entered: 0,
      enteredWhileReading: 0,
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
    if (entered >= sliceOf(limits.inFlight, used, this.#deps.share()))
      throw limited(`this tenant may have ${limits.inFlight} calls in flight`, LOOK_AGAIN_MS);
  }

  #checkTool(name: string, tenant: Tenant, tool: string, now: number): void {
    const quota = tenant.limits.tools.get(tool);
    if (quota === undefined) return;
    const { routers, rank } = this.#deps.share();
    const most = quota.inFlight;
    if (most !== undefined && this.#calls.count(name, tool) >= sliceOf(most, 0, { routers, rank }))
      throw limited(`this tenant may have ${most} calls of ${tool} in flight`, LOOK_AGAIN_MS);
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
