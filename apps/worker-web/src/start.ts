import { createArtifactStore } from '@toolfabric/artifact-http';
import { connectWorker } from '@toolfabric/bus-nats';
import { createEgressDoor } from '@toolfabric/egress-http';
import { createVerifier, type Logger } from '@toolfabric/kernel';
import { type RunningService, startHealth, tellRefusals } from '@toolfabric/service-host';
import { startTelemetry } from '@toolfabric/telemetry';
import { runWorker } from '@toolfabric/worker-runtime';
import type { WorkerWebConfig } from './config.ts';
import { createDriver } from './driver.ts';
import { createTools } from './tools/index.ts';

const artifactsOf = ({ artifactsUrl, artifactsCa }: WorkerWebConfig) =>
  artifactsUrl === undefined
    ? undefined
    : createArtifactStore({ url: artifactsUrl, ...(artifactsCa === undefined ? {} : { ca: artifactsCa }) });

const egressOf = ({ egressSocket: socketPath, egressCa }: WorkerWebConfig) =>
  createEgressDoor({ socketPath, ...(egressCa === undefined ? {} : { ca: egressCa.pem, caFile: egressCa.file }) });

const healthOf = async (
  { healthPort, healthHost }: WorkerWebConfig,
  isReady: () => boolean,
  metrics: () => Promise<string>,
) =>
  healthPort === undefined
    ? undefined
    : startHealth(healthPort, () => true, {
        isReady,
        metrics,
        ...(healthHost === undefined ? {} : { host: healthHost }),
      });

/**
 * Start order: tools, connection, life sign, deliveries. Stop order: the worker drains (no new work, running calls end,
 * life sign), then the connection closes. The egress need not be there yet: calls are refused until it is.
 */
export const start = async (config: WorkerWebConfig, log: Logger): Promise<RunningService> => {
  const { kind, pace, faults, slots } = config;
  const driver = createDriver({ ...config, now: () => performance.now() });
  const artifacts = artifactsOf(config);
  const closeOwn = () => {
    artifacts?.close();
    driver.close();
  };
  const bus = await connectWorker({ ...config.bus, name: `worker-${kind}` }, kind).catch((thrown: unknown) => {
    closeOwn();
    throw thrown;
  });
  const telemetry = startTelemetry({
    service: `worker-${kind}`,
    role: 'worker',
    settings: config.telemetry,
    events: bus.events,
    isConnected: bus.isConnected,
  });
  bus.onRefused(tellRefusals(telemetry.metrics, log));
  const close = async () => {
    await telemetry.shutdown();
    await bus.close();
    closeOwn();
  };
  const worker = await runWorker({
    kind,
    ports: { ...bus, events: telemetry.events },
    telemetry,
    tools: createTools(driver),
    verifier: createVerifier(config.publicKeys),
    pace,
    slots,
    isolation: ['process'],
    egress: egressOf(config),
    faults,
    log,
    ...(artifacts === undefined ? {} : { artifacts }),
    ...(config.redactionSecret === undefined ? {} : { redactionSecret: config.redactionSecret }),
  }).catch(async (thrown: unknown) => {
    await close();
    throw thrown;
  });
  const health = await healthOf(config, () => bus.isConnected(), telemetry.metricsText);
  let stopping: Promise<void> | undefined;
  const shutDown = async () => {
    await worker.stop();
    await close();
    await health?.stop();
  };
  const busGone = bus.closed.then((reason) => `the bus is gone: ${reason}`);
  return {
    name: `worker-${kind}`,
    stop: () => (stopping ??= shutDown()),
    failed: Promise.race([worker.failed, busGone]).then((reason) =>
      stopping === undefined ? reason : new Promise(() => {}),
    ),
  };
};
