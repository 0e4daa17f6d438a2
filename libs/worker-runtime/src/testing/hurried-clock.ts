import { type Clock, systemClock } from '@toolfabric/kernel';
import { GIVE_UP_MS } from '../run-tool.ts';

export { systemClock };

/** The system's clock, but for the time that a tool may take to give up: 50 milliseconds. */
export const hurriedClock: Clock = {
  ...systemClock,
  sleep: (ms, signal) => systemClock.sleep(ms === GIVE_UP_MS ? 50 : ms, signal),
};
