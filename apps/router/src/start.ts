import { connectLedger, type LedgerBus } from '@toolfabric/bus-nats';
import { loadBuiltinContracts } from '@toolfabric/catalogue';
import type { ToolRef } from '@toolfabric/contract';
import { parseQuotas } from '@toolfabric/governance';
import { createSigner, FabricError, type Logger, randomId, sha256Hex, systemClock } from '@toolfabric/kernel';
import { type RunningService, startHealth, tellRefusals } from '@toolfabric/service-host';
import { type RunningTelemetry, startTelemetry } from '@toolfabric/telemetry';
import { accountsOf } from './accounts.ts';
import { ApprovalBook } from './approvals/approval-book.ts';
import { decideAgain } from './approvals/decide-again.ts';
import { pruneApprovals } from './approvals/prune-approvals.ts';
import { Redactors } from './approvals/redactors.ts';
import { ApprovalWebhook } from './approvals/webhook.ts';
import { carryOn } from './carry-on.ts';
import type { RouterConfig } from './config.ts';
import { storedCredentials } from './credentials/find-credential.ts';
import { DoorWatch } from './egress/watch-doors.ts';
import { ShardHolder } from './hold-shards.ts';
import { decideQueued } from './policy/decide-queued.ts';
import { LivePolicy } from './policy/live-policy.ts';
import { PolicyMark } from './policy/policy-mark.ts';
import { pruneOperations } from './prune-operations.ts';
import { RecentCalls } from './recent-calls.ts';
import { type PayloadDeps, PayloadLog } from './record-payloads.ts';
import { Registry } from './registry.ts';
import type { RouterContext } from './router-context.ts';
import type { RouterServices } from './router-services.ts';
import { serveVerb } from './serve-verbs.ts';
import { settleDelivery } from './settle-call.ts';
import { showGauges } from './show-gauges.ts';
import { isStillAllowed } from './still-allowed.ts';
import { sweepShard } from './sweep-open.ts';
import { TaskCache } from './task-cache.ts';
import { TaskHomes } from './task-home.ts';
import { pruneUnknowns } from './unknown/keep-in-sight.ts';
import { viewCall } from './view-call.ts';
import { LifeWatch } from './watch-lives.ts';

/** Calls in flight whose last write this router remembers. */
const RECENT_CALLS = 2_000;
/** Results of one kind that this router settles at once. */
const SETTLING_AT_ONCE = 64;

/** Tasks that this router remembers. */
const KNOWN_TASKS = 5_000;
/** Between two looks at old operations. */
const PRUNE_EVERY_MS = 3_600_000;
/** Requests of gateways that are handled at once. */
const MOST_REQUESTS = 1_024;
const BUSY = JSON.stringify({
  error: new FabricError('overloaded', 'this router has too many requests at once', {
    retryAfterMs: 200,
  }).toToolError(),
});

/** Runs `step` again and again until the signal; a step that fails is logged and tried at the next turn. */
const loop = async (log: Logger, name: string, everyMs: number, stop: AbortSignal, step: () => Promise<void>) => {
  while (!stop.aborted) {
    await step().catch((thrown) =>
      log.warn('loop.failed', { loop: name, cause: thrown instanceof Error ? thrown.name : 'thrown' }),
    );
    await systemClock.sleep(everyMs, stop);
  }
};

const payloadsOf = (
  { redactionSecret: secret }: RouterConfig,
  { telemetry, ...parts }: Omit<PayloadDeps, 'secret' | 'metrics' | 'later'> & { telemetry: RunningTelemetry },
): Pick<RouterContext, 'recordPayloads' | 'recordDecision'> => {
  const { metrics, later } = telemetry;
  metrics.gauge('toolfabric_payload_events', {}, () => (secret === undefined ? 0 : 1));
  if (secret === undefined) {
    parts.log.warn('payloads.off', { reason: 'TOOLFABRIC_REDACTION_KEY_FILE is not set' });
    return { recordPayloads: () => {}, recordDecision: () => {} };
  }
  const payloads = new PayloadLog({ ...parts, secret, metrics, later });
  return {
    recordPayloads: (call) => payloads.record(call),
    recordDecision: (decided) => payloads.recordDecision(decided),
  };
};

interface Compiled {
  readonly services: RouterServices;
  readonly policy: LivePolicy;
  readonly mark: PolicyMark;
}

const compile = (config: RouterConfig, bus: LedgerBus, telemetry: RunningTelemetry, log: Logger): Compiled => {
  const clock = systemClock;
  const ports = { ...bus, events: telemetry.events };
  const base = { ports, clock, pace: config.pace, log, telemetry };
  const registry = new Registry(bus.registry, clock, log);
  const mark = new PolicyMark(ports, clock, config.kinds);
  const policy = new LivePolicy({
    ...{ folder: config.policyDir, environment: config.environment, log, clock },
    ...{ metrics: telemetry.metrics, events: telemetry.events },
    contracts: () => registry.everPublished,
  });
  const contractOf = (tool: ToolRef) => registry.contractOf(tool);
  const lives = new Map(config.kinds.map((kind) => [kind, new LifeWatch(base, kind)]));
  const approvals = new ApprovalBook((revision) => bus.nextApproval(revision), clock);
  const redactors = new Redactors(config.redactionSecret);
  const ctx: RouterContext = {
    ...base,
    incarnation: `router-${randomId()}`,
    signer: createSigner(config.signing.kid, config.signing.privateKey),
    faults: config.faults,
    recent: new RecentCalls(RECENT_CALLS),
    hideFor: (tenant, rules) => redactors.for(tenant, rules),
    ...payloadsOf(config, { ...base, events: ports.events, contractOf }),
    notify: (call) => {
      bus.settled({ actor: call.actor, view: viewCall(call) });
      services.quotas.over(call.actor.tenant, call.tool.name, call.callId);
    },
    isDead: async (kind, incarnation) => (await lives.get(kind)?.isDead(incarnation)) ?? false,
    contractOf,
    storesApart: (kind) => lives.get(kind)?.storesApart ?? true,
    isStillAllowed: (call) => isStillAllowed(services, call),
    decideAgain: (call) => decideAgain(services, call),
    decideQueued: (call) => decideQueued(services, call),
    policyMark: () => mark.now,
    isResting: (key) => approvals.isResting(key),
    carryOn: (tenant, callId) => void carryOn(ctx, tenant, callId),
    homes: new TaskHomes({ ...base, lifeOf: (kind, incarnation) => lives.get(kind)?.living(incarnation) }),
  };
  const services: RouterServices = {
    ctx,
    registry,
    policy,
    tasks: new TaskCache(bus.tasks, KNOWN_TASKS),
    ...accountsOf(ctx, config.quotas ?? parseQuotas({}), approvals),
    credentials: storedCredentials(bus),
    lives,
    fill: { share: 0 },
    tenancy: config.tenancy,
    environment: config.environment,
  };
  return { services, policy, mark };
};

const webhookLoop = (
  { webhook: config }: RouterConfig,
  { ctx, approvals: book }: RouterServices,
  shards: ShardHolder,
  stop: AbortSignal,
): Promise<void>[] => {
  if (config === undefined) return [];
  const webhook = new ApprovalWebhook({ ctx, book, config, shards: () => shards.held });
  return [loop(ctx.log, 'approval-webhook', 500, stop, () => webhook.turn())];
};

/**
 * Start order: connection, catalogue, one look at the life signs, result feeds, sweeps, and only then requests.
 * Stop order: no new requests, sweeps and feeds end what they have begun, leases are given up, the connection closes.
 */
export const start = async (config: RouterConfig, log: Logger): Promise<RunningService> => {
  const bus = await connectLedger({
    ...config.bus,
    name: 'router',
    eventSecret: sha256Hex(`events\n${config.signing.privateKey}`),
  });
  const { events, isConnected } = bus;
  const common = { service: 'router', role: 'router', settings: config.telemetry } as const;
  const telemetry = startTelemetry({ ...common, events, isConnected });
  bus.onRefused(tellRefusals(telemetry.metrics, log));
  const { services, policy, mark } = compile(config, bus, telemetry, log);
  const { ctx, registry, lives } = services;
  const { pace } = config;
  const stop = new AbortController();
  const shards = new ShardHolder(ctx);
  const doors = new DoorWatch({ lives: bus.doors.lives, clock: ctx.clock, pace: config.pace, log });
  const seen = { open: 0, serving: 0, shards: () => shards.held.length };
  showGauges(services, seen);
  try {
    await registry.seed(loadBuiltinContracts());
    await registry.refresh();
    policy.open();
    await mark.announce(policy.version);
    await Promise.all([...lives.values()].map((watch) => watch.look()));
  } catch (thrown) {
    await telemetry.shutdown();
    await bus.close();
    throw thrown;
  }
  const feeds = config.kinds.map((kind) =>
    bus.resultFeed(kind).run(SETTLING_AT_ONCE, (delivery) => settleDelivery(ctx, delivery), stop.signal),
  );
  const loops = [
    loop(log, 'lives', pace.lifeBeatMs, stop.signal, async () => {
      for (const watch of lives.values()) await watch.look();
    }),
    loop(log, 'doors', pace.lifeBeatMs, stop.signal, () => doors.look()),
    loop(log, 'leases', pace.leaseBeatMs, stop.signal, () => shards.renew()),
    loop(log, 'sweep', pace.sweepEveryMs, stop.signal, async () => {
      const open = [];
      for (const shard of shards.held) open.push(await sweepShard(ctx, shard));
      seen.open = open.reduce((sum, count) => sum + count, 0);
    }),
    loop(log, 'approvals', 1_000, stop.signal, () => services.approvals.refresh()),
    ...webhookLoop(config, services, shards, stop.signal),
    loop(log, 'routers', pace.leaseBeatMs, stop.signal, () => services.routers.renew()),
    loop(log, 'quotas', 100, stop.signal, async () => {
      if (services.quotas.isDue()) await services.quotas.look(() => bus.queued(config.kinds));
    }),
    loop(log, 'registry', 1_000, stop.signal, () => registry.refresh()),
    loop(log, 'policy', 1_000, stop.signal, async () => {
      policy.refresh();
      await mark.announce(policy.version);
    }),
    loop(log, 'operations', PRUNE_EVERY_MS, stop.signal, async () => {
      if (shards.held.includes(0)) await Promise.all([pruneOperations(ctx), pruneUnknowns(ctx), pruneApprovals(ctx)]);
    }),
    loop(log, 'fill', 5_000, stop.signal, async () => {
      services.fill.share = await bus.fill(config.kinds);
    }),
  ];
  const stopServing = bus.serve(async (verb, body) => {
    if (seen.serving >= MOST_REQUESTS) return BUSY;
    seen.serving += 1;
    try {
      return await serveVerb(services, verb, body);
    } finally {
      seen.serving -= 1;
    }
  });
  // A lost bus comes back by itself; a restart would only lose what is in flight.
  const health =
    config.healthPort === undefined
      ? undefined
      : await startHealth(config.healthPort, () => true, {
          isReady: () => bus.isConnected(),
          metrics: telemetry.metricsText,
          ...(config.healthHost === undefined ? {} : { host: config.healthHost }),
        });
  const idle = async () => {
    const until = performance.now() + pace.drainMs;
    while (seen.serving > 0 && performance.now() < until) await systemClock.sleep(10);
  };
  let stopping: Promise<void> | undefined;
  const shutDown = async () => {
    stopServing();
    await idle();
    stop.abort();
    await Promise.all([...feeds, ...loops]);
    await Promise.all([shards.giveUp(), services.routers.giveUp()]);
    await telemetry.shutdown();
    await bus.close();
    await health?.stop();
  };
  return {
    name: 'router',
    stop: () => (stopping ??= shutDown()),
    failed: bus.closed.then((reason) =>
      stopping === undefined ? `the bus is gone: ${reason}` : new Promise(() => {}),
    ),
  };
};
