/**
 * Named places at which a test may stop the process. In production every point is a no-op: `armFaultPoints` refuses
 * unless the configuration says that this is a test.
 */
export const FAULT_POINTS = [
  'egress.revoked',
  'egress.refreshed',
  'egress.secrets-stored',
  'egress.credential-stored',
  'router.after-open-and-call',
  'router.after-operation',
  'router.after-approval',
  'router.after-queued',
  'router.after-publish',
  'router.after-unpin',
  'router.after-resolve',
  'router.after-widened',
  'router.after-retry-claim',
  'router.after-retry',
  'router.before-settle',
  'router.after-call-settled',
  'router.after-terminal-event',
  'router.after-result-ack',
  'gateway.after-accept',
  'worker.before-claim',
  'worker.reading',
  'worker.claimed',
  'worker.background-acknowledged',
  'worker.started',
  'worker.after-write',
  'worker.handled',
  'worker.after-done',
  'worker.after-publish',
  'snapshot.storing',
  'snapshot.stored',
  'snapshot.moved',
  'restore.writing',
  'restore.written',
  'restore.swapping',
  'artifacts.receiving',
  'artifacts.received',
  'artifacts.after-blob',
  'artifacts.after-document',
  'artifacts.after-removal',
  'artifacts.appending',
] as const;
export type FaultPoint = (typeof FAULT_POINTS)[number];

/** `kill` is SIGKILL to the own process, `pause` is SIGSTOP; `hit` counts from 1. */
export interface ArmedFault {
  readonly point: FaultPoint;
  readonly action: 'kill' | 'pause';
  readonly hit: number;
}

export interface Faults {
  /** Called at the named place; returns unless the point is armed. */
  at(point: FaultPoint): void;
}

export const noFaults: Faults = { at: () => {} };

export const armFaultPoints = (armed: readonly ArmedFault[], isTest: boolean): Faults => {
  if (armed.length === 0) return noFaults;
  if (!isTest) throw new Error('fault points can be armed in tests only');
  const hits = new Map<FaultPoint, number>();
  return {
    at(point) {
      const hit = (hits.get(point) ?? 0) + 1;
      hits.set(point, hit);
      const fault = armed.find((candidate) => candidate.point === point && candidate.hit === hit);
      if (fault) process.kill(process.pid, fault.action === 'kill' ? 'SIGKILL' : 'SIGSTOP');
    },
  };
};

/** `worker.started:kill` or `worker.started:pause:2`, separated by commas. */
export const parseFaults = (text: string): ArmedFault[] =>
  text
    .split(',')
    .filter((part) => part !== '')
    .map((part) => {
      const [point, action = 'kill', hit = '1'] = part.split(':');
      if (!FAULT_POINTS.includes(point as FaultPoint)) throw new Error(`unknown fault point ${point}`);
      if (action !== 'kill' && action !== 'pause') throw new Error(`unknown fault action ${action}`);
      if (!/^[1-9]\d{0,8}$/.test(hit)) throw new Error(`a fault is armed for its n-th hit, not for ${hit}`);
      return { point: point as FaultPoint, action, hit: Number(hit) };
    });
