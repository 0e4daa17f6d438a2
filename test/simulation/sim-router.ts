import type { ToolContract } from '@toolfabric/contract';
import { type Faults, type Logger, noTelemetry } from '@toolfabric/kernel';
import type { LedgerPorts } from '@toolfabric/ports';
import { createRedactor } from '@toolfabric/results';
import { carryOn } from '../../apps/router/src/carry-on.ts';
import { DoorWatch } from '../../apps/router/src/egress/watch-doors.ts';
import { RecentCalls } from '../../apps/router/src/recent-calls.ts';
import type { RouterContext } from '../../apps/router/src/router-context.ts';
import { TaskHomes } from '../../apps/router/src/task-home.ts';
import { LifeWatch } from '../../apps/router/src/watch-lives.ts';
import { KIND, SIM_PACE, simSigner } from './sim-cluster.ts';
import type { SimProcess } from './sim-process.ts';

export interface SimRouterParts {
  readonly process: SimProcess;
  readonly ports: LedgerPorts;
  readonly faults: Faults;
  readonly log: Logger;
  readonly contract: ToolContract;
  /** Sabotage: what this router takes for a sign of death beside the real ones. */
  readonly seemsDead: (incarnation: string) => boolean;
}

/** What the procedures of a router are given in the simulation. */
export const simRouter = ({ process, ports, faults, log, contract, seemsDead }: SimRouterParts) => {
  const base = { ports, clock: process.clock, pace: SIM_PACE, log, telemetry: noTelemetry };
  const lives = new LifeWatch(base, KIND);
  const doors = new DoorWatch({ ...base, lives: ports.doors.lives });
  const ctx: RouterContext = {
    ...base,
    incarnation: process.name,
    signer: simSigner,
    faults,
    recent: new RecentCalls(100),
    recordPayloads: () => {},
    recordDecision: () => {},
    hideFor: (tenant) => createRedactor({ secret: Buffer.alloc(32), tenant }),
    policyMark: () => ({}),
    decideQueued: async () => ({ verdict: 'same' as const }),
    notify: () => {},
    isDead: async (_kind, incarnation) => seemsDead(incarnation) || lives.isDead(incarnation),
    contractOf: async () => contract,
    storesApart: () => false,
    carryOn: (tenant, callId) => void process.deliver(() => void carryOn(ctx, tenant, callId)),
    isStillAllowed: async () => true,
    decideAgain: async ({ decision }) => ({
      verdict: 'same',
      policyVersion: decision.policyVersion,
      until: Number.POSITIVE_INFINITY,
    }),
    isResting: () => false,
    homes: new TaskHomes({ ...base, lifeOf: (_kind, incarnation) => lives.living(incarnation) }),
  };
  return { ctx, lives, doors };
};
