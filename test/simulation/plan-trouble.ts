import type { Scheduler } from './scheduler.ts';

/** What may happen to the processes of a run; each finds out itself whether there is such a process now. */
export interface Trouble {
  killWorker(slot: number): void;
  killRouter(slot: number): void;
  killDoor(slot: number): void;
  drainDoor(slot: number): void;
  drainWorker(slot: number): void;
  /** `ms` is drawn after the process is chosen. */
  pauseSome(ms: () => number): void;
  /** Nobody reaches the bus before `until`, in simulated milliseconds. */
  cutOff(until: number): void;
}

/** Draws what goes wrong within the first `troubleMs` of a run, and when. */
export const planTrouble = (scheduler: Scheduler, troubleMs: number, trouble: Trouble): void => {
  const { random } = scheduler;
  const sometime = (run: () => void): void => scheduler.after(random.between(0, troubleMs), run);
  for (let n = random.int(4); n > 0; n -= 1) sometime(() => trouble.killWorker(random.int(3)));
  for (let n = random.int(3); n > 0; n -= 1) sometime(() => trouble.killRouter(random.int(2)));
  for (let n = random.int(3); n > 0; n -= 1) sometime(() => trouble.killDoor(random.int(2)));
  if (random.chance(0.4)) sometime(() => trouble.drainDoor(random.int(2)));
  if (random.chance(0.3)) sometime(() => trouble.drainWorker(random.int(3)));
  for (let n = random.int(3); n > 0; n -= 1) sometime(() => trouble.pauseSome(() => random.between(500, 14_000)));
  if (random.chance(0.25)) sometime(() => trouble.cutOff(scheduler.now + random.between(500, 7_000)));
};
