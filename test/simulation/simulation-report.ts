import type { CallRecord } from '@toolfabric/contract';
import type { SimCluster } from './sim-cluster.ts';

export interface SimulationReport {
  readonly seed: number;
  readonly violations: readonly string[];
  readonly states: Readonly<Record<string, number>>;
  readonly events: number;
  readonly kills: number;
}

/** How many calls ended, or stand, in each state. */
export const statesOf = (cluster: SimCluster, calls: readonly CallRecord[]): Record<string, number> => {
  const states: Record<string, number> = {};
  for (const { callId } of calls) {
    const state = cluster.callOf(callId)?.state ?? 'never accepted';
    states[state] = (states[state] ?? 0) + 1;
  }
  return states;
};
