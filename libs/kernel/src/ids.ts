import { hash, randomBytes } from 'node:crypto';
import { type Actor, CLOCK_LEEWAY_MS, OPEN_SHARDS, RING_SLOTS, WEEK_MS } from '@toolfabric/contract';
import { canonicalJson } from './canonical-json.ts';
import { FabricError } from './errors.ts';

const ALPHABET = '0123456789abcdefghjkmnpqrstvwxyz';

/** Crockford's base 32 in lower case: safe as a subject token. */
export const base32 = (bytes: Uint8Array): string => {
  let bits = 0;
  let value = 0;
  let out = '';
  for (const byte of bytes) {
    value = ((value << 8) | byte) & 0xffff;
    bits += 8;
    while (bits >= 5) {
      bits -= 5;
      out += ALPHABET[(value >>> bits) & 31];
    }
  }
  return bits > 0 ? out + ALPHABET[(value << (5 - bits)) & 31] : out;
};

/** 26 characters (130 bits) of the SHA-256 over the canonical JSON of the parts. */
export const shortHash = (...parts: unknown[]): string =>
  base32(hash('sha256', canonicalJson(parts), 'buffer')).slice(0, 26);

/** 26 random characters (130 bits). */
export const randomId = (): string => base32(randomBytes(17)).slice(0, 26);

/** A UUIDv7 (RFC 9562): the request key that a client makes once for each action and keeps for its retries. */
export const uuidv7 = (now: number = Date.now()): string => {
  const bytes = randomBytes(16);
  bytes.writeUIntBE(now, 0, 6);
  bytes[6] = 0x70 | ((bytes[6] ?? 0) & 0x0f);
  bytes[8] = 0x80 | ((bytes[8] ?? 0) & 0x3f);
  const hex = bytes.toString('hex');
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`;
};

const UUIDV7 = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;

/** Milliseconds since the epoch at which a UUIDv7 was made; undefined for any other text. */
export const uuidv7Time = (key: string): number | undefined =>
  UUIDV7.test(key) ? Number.parseInt(key.slice(0, 8) + key.slice(9, 13), 16) : undefined;

/** Milliseconds since the epoch out of a UUIDv7; refuses what is none, is older than the retention, or lies ahead. */
export const requestKeyTime = (requestKey: string, now: number): number => {
  const refuse = (why: string) => new FabricError('request_key_out_of_range', `the request key ${why}`);
  const time = uuidv7Time(requestKey);
  if (time === undefined) throw refuse('is not a UUIDv7 in lower case');
  if (time > now + CLOCK_LEEWAY_MS) throw refuse('lies ahead of the clock of the fabric');
  if (time < now - (RING_SLOTS - 2) * WEEK_MS) throw refuse('is older than the calls that are kept');
  return time;
};

/** Protocol 1: a retry with the same key by the same actor finds the same call. */
export const callIdFor = (actor: Actor, requestKey: string, now: number): string => {
  const week = Math.floor(requestKeyTime(requestKey, now) / WEEK_MS);
  return `${week}-${shortHash('call', actor.tenant, actor.user, actor.agent, requestKey)}`;
};

export const taskIdFor = (actor: Actor, requestKey: string, now: number): string => {
  requestKeyTime(requestKey, now);
  return `t-${shortHash('task', actor.tenant, actor.user, actor.agent, requestKey)}`;
};

/** The slot of the ring in which a call is stored. */
export const slotOf = (callId: string): number => Number.parseInt(callId, 10) % RING_SLOTS;

/** The shard of `OPEN` whose holder looks after a call. */
export const shardOf = (callId: string): number => {
  const digest = hash('sha256', callId, 'buffer');
  return (digest[0] ?? 0) % OPEN_SHARDS;
};

/** Who stored it under which name decides the id of an artifact: a repeated write finds the first one. */
export const artifactIdFor = (tenant: string, callId: string, epoch: number, name: string): string =>
  `a-${shortHash('artifact', tenant, callId, epoch, name)}`;

/** The name of the log of a background call. */
export const LOG_NAME = 'log';
