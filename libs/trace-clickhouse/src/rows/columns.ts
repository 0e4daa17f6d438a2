import { CallId, type FabricEvent } from '@toolfabric/contract';
import type { Moment } from './event-rows.ts';

export type Json = Readonly<Record<string, unknown>>;
export type Attributes = FabricEvent['attributes'];

export const toSeconds = (ms: number): number => Math.min(4_294_967_295, Math.max(0, Math.ceil(ms / 1000)));

export const isCallId = (value: string | undefined): value is string => CallId.safeParse(value).success;

/** The week in which a call was asked for, which its id begins with. */
export const weekOf = (callId: string): number => Number(callId.slice(0, callId.indexOf('-')));

export const stringAttributes = (attributes: Attributes): Record<string, string> =>
  Object.fromEntries(Object.entries(attributes).map(([name, value]) => [name, String(value)]));

export const text = (attributes: Attributes, name: string): string => String(attributes[name] ?? '');

/** A whole number from 0 to `most`; `otherwise` when there is none. */
export const whole = (attributes: Attributes, name: string, most: number, otherwise = 0): number => {
  const value = attributes[name];
  return typeof value === 'number' && Number.isFinite(value)
    ? Math.min(most, Math.max(0, Math.trunc(value)))
    : otherwise;
};

export const flag = (attributes: Attributes, name: string): boolean => {
  const value = attributes[name];
  return value === true || value === 'true' || (typeof value === 'number' && value > 0);
};

/** When the call began, which may be long before the event that tells it. */
export const callMoment = (event: FabricEvent, expiresAt: number): Moment[] => {
  const acceptedAt = whole(event.attributes, 'acceptedAt', Number.MAX_SAFE_INTEGER);
  return event.type === 'call.settled' && isCallId(event.callId) && acceptedAt > 0
    ? [{ tenant: event.tenant, id: event.callId, ms: acceptedAt, expiresAt }]
    : [];
};
