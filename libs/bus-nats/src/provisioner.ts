import {
  JetStreamApiError,
  type JetStreamManager,
  jetstreamManager,
  type StreamConfig,
  type StreamInfo,
} from '@nats-io/jetstream';
import { connect, type NatsConnection, nkeyAuthenticator } from '@nats-io/transport-node';
import { z } from 'zod';
import type { BusConfig } from './bus-connection.ts';
import { clearAcknowledged } from './clear-acknowledged.ts';
import { type Difference, listStreams, planTopology } from './plan-topology.ts';
import { type Features, probeFeatures } from './probe-features.ts';
import { type Purged, purgeSlot } from './purge-slot.ts';
import { inboxPrefix } from './subjects.ts';
import { type StreamSpec, TOPOLOGY_VERSION, type Topology, topologyMark } from './topology.ts';

export interface Fill {
  readonly stream: string;
  readonly messages: number;
  readonly bytes: number;
  /** From 0 to 1, of the bytes that the stream may hold. */
  readonly filled: number;
}

export interface Provisioner {
  /** What `apply` would do, and what it could not. Changes nothing. Also the drift report. */
  plan(topology: Topology): Promise<Difference[]>;
  /**
   * Creates and updates until the server echoes the topology. Idempotent; deletes nothing. Throws when something is
   * blocked, when the server dropped an option, or when it shows a later topology.
   */
  apply(topology: Topology): Promise<Difference[]>;
  fill(): Promise<Fill[]>;
  probeFeatures(): Promise<Features>;
  /** Empties one slot of the ring before its reuse (protocol 1). */
  purgeSlot(slot: number, now: number): Promise<Purged>;
  /** Takes out of the work queues what came back although it was acknowledged; returns how many messages. */
  clearAcknowledged(): Promise<number>;
  close(): Promise<void>;
}

const Mark = z.string().regex(/^toolfabric topology \d+$/);

/** The topology that made a stream, or undefined when it is not one of ours. */
const versionOf = (config: StreamConfig): number | undefined => {
  const mark = Mark.safeParse(config.description);
  return mark.success ? Number(mark.data.split(' ').at(-1)) : undefined;
};

const refuseLater = async (manager: JetStreamManager): Promise<void> => {
  for (const { config } of (await listStreams(manager)).values()) {
    const version = versionOf(config);
    if (version === undefined || version <= TOPOLOGY_VERSION) continue;
    throw new Error(`the server has "${topologyMark(version)}", later than ${TOPOLOGY_VERSION}: nothing was changed`);
  }
};

const execute = async (manager: JetStreamManager, spec: StreamSpec, difference: Difference): Promise<void> => {
  const consumer = spec.consumers.find((wanted) => difference.target === `${spec.name}/${wanted.durable_name}`);
  if (consumer !== undefined) {
    if (difference.action === 'create') await manager.consumers.add(spec.name, consumer);
    else await manager.consumers.update(spec.name, consumer.durable_name, consumer);
  } else if (difference.action === 'create') await manager.streams.add(spec.config);
  else await manager.streams.update(spec.name, spec.config);
};

const applyAll = async (manager: JetStreamManager, topology: Topology): Promise<Difference[]> => {
  await refuseLater(manager);
  const planned = await planTopology(manager, topology);
  const blocked = planned.filter(({ action }) => action === 'blocked');
  if (blocked.length > 0) throw new Error(`cannot be changed in place: ${summary(blocked)}`);
  for (const difference of planned.filter(({ action }) => action !== 'unexpected')) {
    const spec = topology.streams.find(({ name }) => name === difference.target.split('/')[0]);
    if (spec !== undefined) await execute(manager, spec, difference);
  }
  const left = (await planTopology(manager, topology)).filter(({ action }) => action !== 'unexpected');
  if (left.length > 0) throw new Error(`the server did not take over: ${summary(left)}`);
  return planned;
};

const summary = (differences: readonly Difference[]): string =>
  differences.map(({ target, fields }) => `${target} (${fields.join(', ')})`).join('; ');

const fillOf = ({ config, state }: StreamInfo): Fill => ({
  stream: config.name,
  messages: state.messages,
  bytes: state.bytes,
  filled: config.max_bytes > 0 ? state.bytes / config.max_bytes : 0,
});

/** Connects as the user `provisioner`, the only one that may create streams and consumers. */
export const connectProvisioner = async (config: Omit<BusConfig, 'publicKeys'>): Promise<Provisioner> => {
  const nc: NatsConnection = await connect({
    servers: typeof config.servers === 'string' ? config.servers : [...config.servers],
    authenticator: nkeyAuthenticator(new TextEncoder().encode(config.nkeySeed.trim())),
    name: config.name,
    inboxPrefix: inboxPrefix('provisioner'),
    timeout: config.connectTimeoutMs ?? 10_000,
  });
  const manager = await openManager(nc, config.connectTimeoutMs ?? 10_000);
  return {
    plan: (topology) => planTopology(manager, topology),
    apply: (topology) => applyAll(manager, topology),
    fill: async () => [...(await listStreams(manager)).values()].map(fillOf),
    probeFeatures: () => probeFeatures(nc),
    purgeSlot: (slot, now) => purgeSlot(manager, slot, now),
    clearAcknowledged: () => clearAcknowledged(manager),
    close: () => nc.close(),
  };
};

/** A server that has just started may answer before its streams are ready. */
const openManager = async (nc: NatsConnection, timeoutMs: number): Promise<JetStreamManager> => {
  const deadline = performance.now() + timeoutMs;
  for (;;) {
    try {
      return await jetstreamManager(nc, { timeout: 5_000 });
    } catch (error) {
      const refused = error instanceof JetStreamApiError;
      if (refused || performance.now() > deadline || nc.isClosed()) {
        await nc.close();
        throw error;
      }
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
  }
};
