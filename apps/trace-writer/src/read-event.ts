import { CallId, FabricEvent, WEEK_MS } from '@toolfabric/contract';
import { sha256Hex } from '@toolfabric/kernel';

/** Why an event is not taken; said in logs and counted, never with its content. */
export type Invalid = 'not_json' | 'wrong_shape' | 'wrong_subject' | 'wrong_service' | 'wrong_time' | 'wrong_payload';

type EventType = FabricEvent['type'];

/**
 * What a service may tell. Rows of calls and tasks come from the router and the gateway alone: a worker that was taken
 * over must not write the history of calls.
 */
const mayTell = (service: string, type: EventType): boolean => {
  if (service === 'router') return true;
  if (type === 'trace.spans') return true;
  if (service === 'gateway') return type === 'call.refused';
  if (service === 'artifacts') return type.startsWith('artifact.');
  if (service === 'egress') return type === 'egress.attempt' || type === 'credential.changed';
  return type === 'message.refused' || type.startsWith('workspace.');
};

const DAY_MS = 86_400_000;
const OLDEST_MS = 60 * DAY_MS;
const AHEAD_MS = 3_600_000;
/** Weeks that a call may be older than what is told of it. */
const CALL_WEEKS = 12;

const isPlausible = (ms: number, now: number): boolean => ms > now - OLDEST_MS && ms < now + AHEAD_MS;

const hasPlausibleCall = (callId: string | undefined, now: number): boolean => {
  if (callId === undefined || !CallId.safeParse(callId).success) return true;
  const week = Number(callId.slice(0, callId.indexOf('-')));
  const thisWeek = Math.floor(now / WEEK_MS);
  return week > thisWeek - CALL_WEEKS && week <= thisWeek + 1;
};

/** Times decide into which part of a table a row goes: wild ones would make parts without end. */
const hasPlausibleTimes = (event: FabricEvent, now: number): boolean =>
  isPlausible(event.at, now) &&
  hasPlausibleCall(event.callId, now) &&
  (event.spans ?? []).every(({ startUs, callId }) => isPlausible(startUs / 1000, now) && hasPlausibleCall(callId, now));

const hasFittingParts = ({ type, spans, payloads, tenant, actor }: FabricEvent): boolean =>
  (spans === undefined || type === 'trace.spans') &&
  (payloads === undefined || type === 'call.payloads') &&
  (actor === undefined || actor.tenant === tenant);

const parse = (data: Uint8Array): unknown => {
  try {
    return JSON.parse(Buffer.from(data.buffer, data.byteOffset, data.byteLength).toString('utf8'));
  } catch {
    return undefined;
  }
};

/** An event as it came over the bus on `event.<service>.<tenant>`, or why it is not taken. Never throws. */
export const readEvent = (subject: string, data: Uint8Array, now: number): FabricEvent | Invalid => {
  const value = parse(data);
  if (value === undefined) return 'not_json';
  const read = FabricEvent.safeParse(value);
  if (!read.success) return 'wrong_shape';
  const event = read.data;
  if (subject !== `event.${event.service}.${event.tenant}`) return 'wrong_subject';
  if (!mayTell(event.service, event.type) || !hasFittingParts(event)) return 'wrong_service';
  if (!hasPlausibleTimes(event, now)) return 'wrong_time';
  // The hash is a key of the whole tenant: a text under a foreign one would be read as somebody else's.
  if (!(event.payloads ?? []).every(({ sha256, text }) => sha256Hex(text) === sha256)) return 'wrong_payload';
  return event;
};
