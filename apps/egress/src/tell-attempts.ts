import type { FabricEvent } from '@toolfabric/contract';
import type { Clock, Metrics } from '@toolfabric/kernel';
import type { EventLog } from '@toolfabric/ports';
import type { AttemptSink, EgressAttempt } from './attempts.ts';

/** Events of one execution: what comes after them is only counted. */
const MOST_OF_ONE = 200;
/** Executions whose events are counted at one time. */
const MOST_COUNTED = 10_000;

const attributesOf = ({ permit, ...attempt }: EgressAttempt): FabricEvent['attributes'] =>
  Object.fromEntries(
    Object.entries({ epoch: permit.epoch, ...attempt }).filter(([, value]) => value !== undefined),
  ) as FabricEvent['attributes'];

export interface TellAttempts {
  readonly events: Pick<EventLog, 'emit'>;
  readonly metrics: Metrics;
  readonly clock: Clock;
  /** Of this process: event ids are its own. */
  readonly incarnation: string;
}

/** Each attempt as an event of its call in the trace, and as a number. An attempt holds no token, header or body. */
export const tellAttempts = ({ events, metrics, clock, incarnation }: TellAttempts): AttemptSink => {
  const told = new Map<string, number>();
  let number = 0;
  const mayTell = (execution: string): boolean => {
    const before = told.get(execution) ?? 0;
    told.delete(execution);
    told.set(execution, before + 1);
    const [oldest] = told.keys();
    if (told.size > MOST_COUNTED && oldest !== undefined) told.delete(oldest);
    return before < MOST_OF_ONE;
  };
  return {
    record(attempt) {
      const { permit, verdict, reason = 'none' } = attempt;
      metrics.count('toolfabric_egress_attempts_total', { verdict, reason });
      if (!mayTell(`${permit.callId}.${permit.epoch}`)) return;
      number += 1;
      events.emit({
        id: `${permit.callId}:egress.${incarnation}.${number}`,
        type: 'egress.attempt',
        service: 'egress',
        tenant: permit.actor.tenant,
        at: clock.now(),
        callId: permit.callId,
        taskId: permit.taskId,
        actor: permit.actor,
        attributes: attributesOf(attempt),
      });
    },
  };
};
