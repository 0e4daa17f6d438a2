import { connectEvents } from '@toolfabric/bus-nats';
import { type Logger, systemClock } from '@toolfabric/kernel';
import { type RunningService, startHealth, tellRefusals } from '@toolfabric/service-host';
import { startTelemetry } from '@toolfabric/telemetry';
import type { ArtifactsConfig } from './config.ts';
import { PATIENCE } from './http/stream-body.ts';
import { startArtifacts } from './start-artifacts.ts';

/** Rejects, with the bus closed again, when the store may not or cannot be used, or the port is taken. */
export const start = async (config: ArtifactsConfig, logger: Logger): Promise<RunningService> => {
  const bus = await connectEvents({ ...config.bus, name: 'artifacts' }, 'artifacts');
  try {
    const telemetry = startTelemetry({
      service: 'artifacts',
      role: 'artifacts',
      settings: config.telemetry,
      events: bus.events,
      isConnected: bus.isConnected,
    });
    bus.onRefused(tellRefusals(telemetry.metrics, logger));
    const server = await startArtifacts(config, telemetry.events, logger, systemClock, PATIENCE, telemetry);
    const health = await openHealth(config, server.isReady, telemetry.metricsText).catch(async (thrown: unknown) => {
      await server.stop();
      throw thrown;
    });
    let stopping: Promise<void> | undefined;
    const stop = async () => {
      await server.stop();
      await telemetry.shutdown();
      await bus.close();
      await health?.stop();
    };
    const busGone = bus.closed.then((reason) => `the bus is gone: ${reason}`);
    return {
      name: 'artifacts',
      address: server.address,
      stop: () => (stopping ??= stop()),
      failed: Promise.race([busGone, server.lost]).then((reason) =>
        stopping === undefined ? reason : new Promise(() => {}),
      ),
    };
  } catch (thrown) {
    await bus.close();
    throw thrown;
  }
};

/** Without the bus events are lost, and nothing else: readiness does not ask for it. */
const openHealth = async (
  { healthPort: port, healthHost: host }: ArtifactsConfig,
  isReady: () => boolean,
  metrics: () => Promise<string>,
): Promise<RunningService | undefined> =>
  port === undefined
    ? undefined
    : startHealth(port, () => true, { isReady, metrics, ...(host === undefined ? {} : { host }) });
