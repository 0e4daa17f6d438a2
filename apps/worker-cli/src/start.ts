import { connectWorker } from '@toolfabric/bus-nats';
import { createVerifier, type Logger } from '@toolfabric/kernel';
import { type RunningService, startHealth } from '@toolfabric/service-host';
import { type AnyTool, runWorker } from '@toolfabric/worker-runtime';
import { type Capabilities, probeCapabilities } from './capabilities/probe-capabilities.ts';
import type { WorkerCliConfig } from './config.ts';
import { createDriver } from './driver.ts';
import { findPrograms } from './process/find-program.ts';
import { createTools } from './tools/index.ts';
import { layoutOf } from './workspace/layout.ts';

export { type Capabilities, type Capability, probeCapabilities } from './capabilities/probe-capabilities.ts';

export interface ComposedTools {
  readonly tools: readonly AnyTool[];
  readonly capabilities: Capabilities;
}

/** The tools of this worker over this machine, and what the machine can do. Makes the state directory. */
export const composeTools = async (config: WorkerCliConfig): Promise<ComposedTools> => {
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
    { lockWaitMs: config.lockWaitMs },
  );
  return { tools: createTools(driver), capabilities: await probeCapabilities(config.searchPath) };
};

/**
 * Start order: tools and what the machine really can, connection, life sign, deliveries. Stop order: the worker drains
 * (no new work, running calls end, life sign), then the connection closes.
 */
export const start = async (config: WorkerCliConfig, log: Logger): Promise<RunningService> => {
  const { tools, capabilities } = await composeTools(config);
  const bus = await connectWorker({ ...config.bus, name: `worker-${config.kind}` }, config.kind);
  const { kind, pace, faults, slots } = config;
  const verifier = createVerifier(config.publicKeys);
  const { isolation } = capabilities;
  const options = { kind, ports: bus, tools, verifier, pace, slots, isolation, faults, log };
  const worker = await runWorker(options).catch(async (thrown: unknown) => {
    await bus.close();
    throw thrown;
  });
  // A lost bus comes back by itself; a restart would only lose what is in flight.
  const health =
    config.healthPort === undefined
      ? undefined
      : await startHealth(config.healthPort, () => true, {
          isReady: () => bus.isConnected(),
          ...(config.healthHost === undefined ? {} : { host: config.healthHost }),
        });
  let stopping: Promise<void> | undefined;
  const shutDown = async () => {
    await worker.stop();
    await bus.close();
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
