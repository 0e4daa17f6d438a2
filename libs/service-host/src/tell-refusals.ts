import type { Logger, Metrics } from '@toolfabric/kernel';

/** Milliseconds between two lines about the same: whoever floods the bus must not fill the log too. */
const LINE_EVERY_MS = 60_000;

/** Counts what came over the bus without a valid code, and says so in the log once a minute for each kind of message. */
export const tellRefusals = (
  metrics: Metrics,
  log: Logger,
  now: () => number = () => performance.now(),
): ((hop: string) => void) => {
  const told = new Map<string, number>();
  return (hop) => {
    metrics.count('toolfabric_hops_refused_total', { hop });
    const last = told.get(hop);
    if (last !== undefined && now() - last < LINE_EVERY_MS) return;
    told.set(hop, now());
    log.error('hop.refused', { hop });
  };
};
