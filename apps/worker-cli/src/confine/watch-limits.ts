import type { CallGroup } from './cgroup/call-group.ts';
import type { LimitName } from './limits.ts';

export interface Watching {
  readonly group: CallGroup | undefined;
  /** Gets what was reached. */
  readonly limits: Map<LimitName, number>;
  readonly timeMs: number;
  readonly cpuMs: number;
  readonly diskFull?: () => Promise<boolean>;
}

/** Milliseconds between two looks. */
const LOOK_MS = 200;
/** A look at the disk takes at most this share of the time. */
const DISK_SHARE = 10;

/** Ends the command through `stop` when it has used up its wall time, its processor time or its disk. */
export const watchLimits = (watching: Watching, stop: AbortController): void => {
  if (stop.signal.aborted) return;
  const { group, limits, timeMs, cpuMs, diskFull } = watching;
  const reached = (name: LimitName) => {
    if (stop.signal.aborted) return;
    limits.set(name, 1);
    stop.abort();
  };
  const wall = setTimeout(() => reached('wall_time'), timeMs);
  let nextDisk = performance.now() + LOOK_MS;
  const lookAtDisk = async () => {
    if (diskFull === undefined || performance.now() < nextDisk) return;
    nextDisk = Number.POSITIVE_INFINITY;
    const begun = performance.now();
    if (await diskFull().catch(() => false)) reached('disk');
    nextDisk = performance.now() + Math.max(LOOK_MS, DISK_SHARE * (performance.now() - begun));
  };
  const timer = setInterval(() => {
    if (group !== undefined && group.cpuMs() > cpuMs) reached('cpu_time');
    void lookAtDisk();
  }, LOOK_MS);
  stop.signal.addEventListener('abort', () => {
    clearTimeout(wall);
    clearInterval(timer);
  });
};
