import type { LedgerBus } from '@toolfabric/bus-nats';
import { parseQuotas } from '@toolfabric/governance';
import { createSigner, type Logger, noFaults, noTelemetry, PACES, silentLogger, systemClock } from '@toolfabric/kernel';
import { accountsOf } from '../accounts.ts';
import { ApprovalBook } from '../approvals/approval-book.ts';
import { decideAgain } from '../approvals/decide-again.ts';
import { Redactors } from '../approvals/redactors.ts';
import { storedCredentials } from '../credentials/find-credential.ts';
import { RecentCalls } from '../recent-calls.ts';
import { Registry } from '../registry.ts';
import type { RouterContext } from '../router-context.ts';
import type { RouterServices } from '../router-services.ts';
import { isStillAllowed } from '../still-allowed.ts';
import { TaskCache } from '../task-cache.ts';
import { TaskHomes } from '../task-home.ts';
import { LifeWatch } from '../watch-lives.ts';
import { sampleContract } from './sample-contract.ts';
import { type PolicyTexts, samplePolicy } from './sample-policy.ts';

export interface ServiceParts {
  readonly bus: LedgerBus;
  readonly signing: { readonly kid: string; readonly privateKey: string };
  readonly log?: Logger;
  readonly policy?: PolicyTexts;
}

/** For tests: what the verbs of a router are given, on a real bus, without its loops. */
export const openServices = ({ bus, signing, log = silentLogger, policy = {} }: ServiceParts): RouterServices => {
  const base = { ports: bus, clock: systemClock, pace: PACES.test, log, telemetry: noTelemetry };
  const watch = new LifeWatch(base, 'cli');
  const registry = new Registry(bus.registry, systemClock, log);
  const redactors = new Redactors();
  const ctx: RouterContext = {
    isStillAllowed: (call) => isStillAllowed(services, call),
    decideAgain: (call) => decideAgain(services, call),
    isResting: () => false,
    ...base,
    incarnation: 'router-test',
    signer: createSigner(signing.kid, signing.privateKey),
    faults: noFaults,
    recent: new RecentCalls(100),
    recordPayloads: () => {},
    recordDecision: () => {},
    hideFor: (tenant, rules) => redactors.for(tenant, rules),
    policyMark: () => ({}),
    decideQueued: async () => ({ verdict: 'same' as const }),
    notify: () => {},
    isDead: (_kind, incarnation) => watch.isDead(incarnation),
    // Sample calls have a digest that is none.
    contractOf: async (tool) => (tool.digest.length < 64 ? sampleContract() : registry.contractOf(tool)),
    carryOn: () => {},
    storesApart: () => watch.storesApart,
    homes: new TaskHomes({ ...base, lifeOf: (_kind, incarnation) => watch.living(incarnation) }),
  };
  const services: RouterServices = {
    ctx,
    registry,
    policy: samplePolicy(policy),
    tasks: new TaskCache(bus.tasks, 100),
    ...accountsOf(ctx, parseQuotas({}), new ApprovalBook((revision) => bus.nextApproval(revision), systemClock)),
    credentials: storedCredentials(bus),
    lives: new Map([['cli', watch]]),
    fill: { share: 0 },
    tenancy: 'single',
    environment: 'development',
  };
  return services;
};
