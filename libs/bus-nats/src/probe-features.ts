import type { NatsConnection } from '@nats-io/transport-node';
import { z } from 'zod';
import { PROBE_STREAM } from './permissions.ts';
import { CORE_API } from './subjects.ts';

/** What the server really does, found by what it echoes: older ones drop unknown options without an error. */
export interface Features {
  readonly serverVersion: string;
  readonly discardNewPerSubject: boolean;
  readonly metadata: boolean;
  readonly compression: boolean;
  readonly messageTtl: boolean;
  readonly atomicPublish: boolean;
  /** Production asks for a server that can: it is the one with a durable ledger after a power loss. */
  readonly productionGrade: boolean;
}

const Echo = z.object({ config: z.record(z.string(), z.unknown()).optional(), error: z.unknown().optional() });

const OPTIONS = {
  discardNewPerSubject: { discard: 'new', discard_new_per_subject: true, max_msgs_per_subject: 1 },
  metadata: { metadata: { probe: 'yes' } },
  compression: { compression: 's2' },
  messageTtl: { allow_msg_ttl: true },
  atomicPublish: { allow_atomic: true },
} as const satisfies Record<string, Record<string, unknown>>;

const ask = async (nc: NatsConnection, verb: string, body: unknown): Promise<z.infer<typeof Echo>> => {
  const answer = await nc.request(`${CORE_API}.STREAM.${verb}.${PROBE_STREAM}`, JSON.stringify(body), {
    timeout: 5_000,
  });
  return Echo.parse(answer.json());
};

/** Whether a stream created with these options shows them again. The probe stream is deleted at once. */
const isEchoed = async (nc: NatsConnection, options: Readonly<Record<string, unknown>>): Promise<boolean> => {
  await ask(nc, 'DELETE', {});
  const base = {
    name: PROBE_STREAM,
    subjects: ['probe.features'],
    storage: 'memory',
    retention: 'limits',
    max_bytes: 1024,
  };
  const { config } = await ask(nc, 'CREATE', { ...base, ...options });
  await ask(nc, 'DELETE', {});
  return Object.entries(options).every(([name, value]) => isSuperset(config?.[name], value));
};

const isSuperset = (found: unknown, wanted: unknown): boolean => {
  if (typeof wanted !== 'object' || wanted === null) return found === wanted;
  if (typeof found !== 'object' || found === null) return false;
  return Object.entries(wanted).every(([name, value]) => (found as Record<string, unknown>)[name] === value);
};

/** 2.11.16 and 2.12.7 are the first with all known faults of lost or stuck streams mended. */
export const isProductionGrade = (version: string): boolean => {
  const [major = 0, minor = 0, patch = 0] = version.split(/[.-]/).map(Number);
  if (major !== 2) return major > 2;
  if (minor === 11) return patch >= 16;
  return minor > 12 || (minor === 12 && patch >= 7);
};

export const probeFeatures = async (nc: NatsConnection): Promise<Features> => {
  const serverVersion = nc.info?.version ?? '0.0.0';
  const found: Record<string, boolean> = {};
  for (const [name, options] of Object.entries(OPTIONS)) found[name] = await isEchoed(nc, options);
  return {
    serverVersion,
    discardNewPerSubject: found['discardNewPerSubject'] ?? false,
    metadata: found['metadata'] ?? false,
    compression: found['compression'] ?? false,
    messageTtl: found['messageTtl'] ?? false,
    atomicPublish: found['atomicPublish'] ?? false,
    productionGrade: isProductionGrade(serverVersion),
  };
};
