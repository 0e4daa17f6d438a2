import { createArtifactFront } from '@toolfabric/artifact-http';
import { connectGateway } from '@toolfabric/bus-nats';
import { type Logger, systemClock } from '@toolfabric/kernel';
import { type RunningService, startHealth, tellRefusals } from '@toolfabric/service-host';
import { startTelemetry } from '@toolfabric/telemetry';
import type { GatewayConfig } from './config.ts';
import { startGateway } from './start-gateway.ts';

export { issueToken, type NewToken, TokenEntry } from './tokens.ts';

/** Rejects, with the bus closed again, when the gateway may not or cannot start. */
export const start = async (config: GatewayConfig, logger: Logger): Promise<RunningService> => {
  const bus = await connectGateway({ ...config.bus, name: 'gateway' });
  try {
    const front = config.artifacts && createArtifactFront(config.artifacts);
    const { events, isConnected } = bus;
    const common = { service: 'gateway', role: 'gateway', settings: config.telemetry } as const;
    const telemetry = startTelemetry({ ...common, events, isConnected });
    bus.onRefused(tellRefusals(telemetry.metrics, logger));
    const ports = { ...bus, events: telemetry.events };
    const gateway = await startGateway(config, ports, logger, systemClock, front, telemetry);
    const isReady = () => bus.isConnected() && gateway.isReady();
    const health = await openHealth(config, isReady, telemetry.metricsText).catch(async (error: unknown) => {
      await gateway.stop();
      throw error;
    });
    if (health !== undefined) logger.info('health', { address: health.address });
    let stopping: Promise<void> | undefined;
    const stop = async () => {
      await gateway.stop();
      await telemetry.shutdown();
      await bus.close();
      await health?.stop();
    };
    return {
      name: 'gateway',
      address: gateway.address,
      stop: () => (stopping ??= stop()),
      failed: bus.closed.then((reason) =>
        stopping === undefined ? `the bus is gone: ${reason}` : new Promise(() => {}),
      ),
    };
  } catch (error) {
    await bus.close();
    throw error;
  }
};

const openHealth = async (
  { healthPort: port, healthHost: host }: GatewayConfig,
  isReady: () => boolean,
  metrics: () => Promise<string>,
): Promise<RunningService | undefined> =>
  port === undefined
    ? undefined
    : startHealth(port, () => true, { isReady, metrics, ...(host === undefined ? {} : { host }) });
