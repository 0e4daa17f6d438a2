import { createArtifactStore } from '@toolfabric/artifact-http';
import { connectWorker } from '@toolfabric/bus-nats';
import { createEgressDoor } from '@toolfabric/egress-http';
import { createVerifier, type Logger, silentLogger } from '@toolfabric/kernel';
import { type RunningService, startHealth, tellRefusals } from '@toolfabric/service-host';
import { startTelemetry } from '@toolfabric/telemetry';
import { type AnyTool, runWorker, type WorkerOptions } from '@toolfabric/worker-runtime';
import { type Capabilities, probeCapabilities } from './capabilities/probe-capabilities.ts';
import type { WorkerCliConfig } from './config.ts';
import { createDriver, type Driver } from './driver.ts';
import { findPrograms } from './process/find-program.ts';
import { createTools } from './tools/index.ts';
import { layoutOf } from './workspace/layout.ts';

export { type Capabilities, type Capability, probeCapabilities } from './capabilities/probe-capabilities.ts';

export interface ComposedTools {
  readonly driver: Driver;
  readonly tools: readonly AnyTool[];
  readonly capabilities: Capabilities;
}

/** The tools of this worker over this machine, and what the machine can do. Makes the state directory. */
export const composeTools = async (config: WorkerCliConfig, log: Logger = silentLogger): Promise<ComposedTools> => {
  const driver = await createDriver(
    {
      layout: layoutOf(config.stateDir),
      roots: config.workspaceRoots,
      protectedDirs: config.protectedDirs,
      cloneSources: config.cloneSources,
      allowRootOwned: config.allowRootOwned,
      users: config.workspaceUsers,
      worker: { uid: process.getuid?.() ?? 0, gid: process.getgid?.() ?? 0 },
      programs: findPrograms(config.searchPath),
    },
    {
      lockWaitMs: config.lockWaitMs,
      commands: config.commands,
      remotes: config.gitRemotes,
      storage: config.storage,
      snapshots: { entries: config.workspaceEntries, bytes: config.commands.workspaceBytes },
      log,
    },
  );
  const capabilities = await probeCapabilities(config.searchPath, config.commands.cgroup || undefined);
  return { driver, tools: createTools(driver), capabilities };
};

/** Several tenants on a machine without name spaces would see each other: such a worker does not start. */
const refuseUnconfined = ({ tenancy }: WorkerCliConfig, { namespaces, bwrap, setpriv }: Capabilities): void => {
  if (tenancy === 'single' || namespaces.works) return;
  const missing = [bwrap, setpriv, namespaces].filter(({ works }) => !works).map(({ reason }) => reason);
  throw new Error(
    `commands of several tenants cannot be kept apart here: ${missing.join('; ')}. Mend that, or set TOOLFABRIC_TENANCY=single`,
  );
};

const artifactsOf = ({ artifactsUrl, artifactsCa }: WorkerCliConfig) =>
  artifactsUrl === undefined
    ? undefined
    : createArtifactStore({ url: artifactsUrl, ...(artifactsCa === undefined ? {} : { ca: artifactsCa }) });

/** The authority of the way out is read by who makes a connection: programs, from the file. */
const egressOf = ({ egressSocket: socketPath, egressCaFile: caFile }: WorkerCliConfig) =>
  socketPath === undefined
    ? {}
    : { egress: createEgressDoor({ socketPath, ...(caFile === undefined ? {} : { caFile }) }) };

/** Between two looks at copies of workspaces that nobody uses, in milliseconds. */
const SWEEP_EVERY_MS = 3_600_000;

/**
 * Start order: tools and what the machine really can, connection, life sign, deliveries. Stop order: the worker drains
 * (no new work, running calls end, life sign), then the connection closes.
 */
export const start = async (config: WorkerCliConfig, log: Logger): Promise<RunningService> => {
  const { driver, tools, capabilities } = await composeTools(config, log);
  try {
    refuseUnconfined(config, capabilities);
  } catch (thrown) {
    await driver.close();
    throw thrown;
  }
  if (!capabilities.cgroup.works) log.warn('worker.no-cgroup', { reason: capabilities.cgroup.reason ?? '' });
  const artifacts = artifactsOf(config);
  const bus = await connectWorker({ ...config.bus, name: `worker-${config.kind}` }, config.kind);
  const { kind, pace, faults, slots } = config;
  const verifier = createVerifier(config.publicKeys);
  const { isolation } = capabilities;
  const telemetry = startTelemetry({
    service: `worker-${kind}`,
    role: 'worker',
    settings: config.telemetry,
    events: bus.events,
    isConnected: bus.isConnected,
  });
  bus.onRefused(tellRefusals(telemetry.metrics, log));
  const options: WorkerOptions = {
    kind,
    ports: { ...bus, events: telemetry.events },
    telemetry,
    tools,
    verifier,
    pace,
    slots,
    storage: config.storage,
    // On shared storage every worker is as near to a workspace as the others.
    pinSlots: config.storage === 'own' ? config.pinSlots : 0,
    isolation,
    faults,
    log,
    ...egressOf(config),
    ...(artifacts === undefined ? {} : { artifacts }),
    ...(config.redactionSecret === undefined ? {} : { redactionSecret: config.redactionSecret }),
  };
  driver.commands.confinement.standing.onOutcome((outcome) =>
    telemetry.metrics.count('toolfabric_standing_sandboxes_total', { kind, outcome }),
  );
  const worker = await runWorker(options).catch(async (thrown: unknown) => {
    await telemetry.shutdown();
    await bus.close();
    artifacts?.close();
    await driver.close();
    throw thrown;
  });
  // A lost bus comes back by itself; a restart would only lose what is in flight.
  const health =
    config.healthPort === undefined
      ? undefined
      : await startHealth(config.healthPort, () => true, {
          isReady: () => bus.isConnected(),
          metrics: telemetry.metricsText,
          ...(config.healthHost === undefined ? {} : { host: config.healthHost }),
        });
  void driver.sweep();
  const sweeping = setInterval(() => void driver.sweep(), SWEEP_EVERY_MS);
  let stopping: Promise<void> | undefined;
  const shutDown = async () => {
    clearInterval(sweeping);
    void driver.drain();
    await worker.stop();
    await telemetry.shutdown();
    await bus.close();
    artifacts?.close();
    await driver.close();
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
