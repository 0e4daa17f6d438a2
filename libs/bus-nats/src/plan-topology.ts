import { isDeepStrictEqual } from 'node:util';
import type { ConsumerConfig, JetStreamManager, StreamInfo } from '@nats-io/jetstream';
import type { StreamSpec, Topology } from './topology.ts';

/** One difference between the topology and the server. `blocked` ones cannot be changed in place. */
export interface Difference {
  readonly target: string;
  readonly action: 'create' | 'update' | 'blocked' | 'unexpected';
  /** Fields that differ, as `name: found → wanted`; empty for `create` and `unexpected`. */
  readonly fields: readonly string[];
}

const IMMUTABLE_STREAM = new Set(['retention', 'storage', 'name']);
const IMMUTABLE_CONSUMER = new Set(['ack_policy', 'deliver_policy', 'durable_name', 'max_waiting']);

type Fields = Readonly<Record<string, unknown>>;

/** Fields of `wanted` that the server shows otherwise; an absent field equals false, as the server leaves it out. */
const differingFields = (wanted: Fields, found: Fields): string[] =>
  Object.keys(wanted).filter(
    (name) => !isDeepStrictEqual(wanted[name], found[name] ?? (wanted[name] === false ? false : undefined)),
  );

const describe = (names: readonly string[], wanted: Fields, found: Fields): string[] =>
  names.map((name) => `${name}: ${JSON.stringify(found[name])} → ${JSON.stringify(wanted[name])}`);

const compare = (target: string, wanted: Fields, found: Fields, immutable: ReadonlySet<string>): Difference[] => {
  const names = differingFields(wanted, found);
  if (names.length === 0) return [];
  const action = names.some((name) => immutable.has(name)) ? 'blocked' : 'update';
  return [{ target, action, fields: describe(names, wanted, found) }];
};

export const listStreams = async (manager: JetStreamManager): Promise<Map<string, StreamInfo>> => {
  const found = new Map<string, StreamInfo>();
  for await (const stream of manager.streams.list()) found.set(stream.config.name, stream);
  return found;
};

const listConsumers = async (manager: JetStreamManager, stream: string): Promise<Map<string, ConsumerConfig>> => {
  const found = new Map<string, ConsumerConfig>();
  for await (const consumer of manager.consumers.list(stream)) found.set(consumer.name, consumer.config);
  return found;
};

const planStream = async (manager: JetStreamManager, spec: StreamSpec, info: StreamInfo | undefined) => {
  if (info === undefined) {
    const targets = [spec.name, ...spec.consumers.map((consumer) => `${spec.name}/${consumer.durable_name}`)];
    return targets.map((target): Difference => ({ target, action: 'create', fields: [] }));
  }
  const differences = compare(spec.name, { ...spec.config }, { ...info.config }, IMMUTABLE_STREAM);
  if (spec.consumers.length === 0 && info.state.consumer_count === 0) return differences;
  const consumers = await listConsumers(manager, spec.name);
  for (const wanted of spec.consumers) {
    const target = `${spec.name}/${wanted.durable_name}`;
    const found = consumers.get(wanted.durable_name);
    if (found === undefined) differences.push({ target, action: 'create', fields: [] });
    else differences.push(...compare(target, { ...wanted }, { ...found }, IMMUTABLE_CONSUMER));
    consumers.delete(wanted.durable_name);
  }
  for (const name of consumers.keys())
    differences.push({ target: `${spec.name}/${name}`, action: 'unexpected', fields: [] });
  return differences;
};

/** Compares the topology with what the server echoes; changes nothing. */
export const planTopology = async (manager: JetStreamManager, topology: Topology): Promise<Difference[]> => {
  const found = await listStreams(manager);
  const differences: Difference[] = [];
  for (const spec of topology.streams) {
    differences.push(...(await planStream(manager, spec, found.get(spec.name))));
    found.delete(spec.name);
  }
  for (const name of found.keys()) differences.push({ target: name, action: 'unexpected', fields: [] });
  return differences;
};
