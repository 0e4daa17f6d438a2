import { connectProvisioner, type Provisioner, purgeableSlot, type Topology } from '@toolfabric/bus-nats';
import { type Clock, type Logger, systemClock } from '@toolfabric/kernel';
import type { RunningService } from '@toolfabric/service-host';

export interface ProvisionOptions {
  readonly servers: string | readonly string[];
  readonly nkeySeed: string;
  readonly topology: Topology;
  readonly logger: Logger;
  readonly clock?: Clock;
}

/** A week has one slot to purge; an hour is often enough to find the moment when no open call stands in it. */
const EVERY_MS = 3_600_000;

/** Runs `work` as the one user that may create streams, on a connection of its own. */
export const asProvisioner = async <T>(
  { servers, nkeySeed }: Pick<ProvisionOptions, 'servers' | 'nkeySeed'>,
  work: (provisioner: Provisioner) => Promise<T>,
): Promise<T> => {
  const provisioner = await connectProvisioner({ servers, nkeySeed, name: 'provisioner' });
  try {
    return await work(provisioner);
  } finally {
    await provisioner.close();
  }
};

/** One round: the topology as it should be, queues without what is over, then the slot that the next week will use (protocol 1). */
export const provisionOnce = (options: ProvisionOptions): Promise<void> =>
  asProvisioner(options, async (provisioner) => {
    const changes = await provisioner.apply(options.topology);
    if (changes.length > 0) options.logger.info('topology_applied', { changes: changes.length });
    const cleared = await provisioner.clearAcknowledged();
    if (cleared > 0) options.logger.info('acknowledged_removed', { count: cleared });
    const now = (options.clock ?? systemClock).now();
    const slot = purgeableSlot(now);
    if (slot === undefined) return;
    const purged = await provisioner.purgeSlot(slot, now);
    const detail = purged.outcome === 'purged' ? purged.records : purged.outcome === 'busy' ? purged.openCalls : 0;
    if (detail > 0) options.logger.info('slot_purge', { slot, outcome: purged.outcome, count: detail });
  });

/** Provisions now, which must succeed, and then every hour. */
export const startProvisioning = async (options: ProvisionOptions): Promise<RunningService> => {
  const clock = options.clock ?? systemClock;
  await provisionOnce(options);
  const stop = new AbortController();
  const loop = (async () => {
    for (;;) {
      await clock.sleep(EVERY_MS, stop.signal);
      if (stop.signal.aborted) return;
      await provisionOnce(options).catch(() => options.logger.error('provisioning_failed'));
    }
  })();
  return {
    name: 'provisioner',
    failed: new Promise(() => {}),
    stop: () => {
      stop.abort();
      return loop;
    },
  };
};
