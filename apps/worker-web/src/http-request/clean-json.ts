import type { Json } from '@toolfabric/kernel';
import { cleanUntrusted } from '../content/clean-untrusted.ts';

/**
 * Data of the outside without what nobody would have seen, names of fields included (RS-6). The depth is bounded by
 * whoever parsed it.
 */
export const cleanJson = (value: Json): Json => {
  if (typeof value === 'string') return cleanUntrusted(value).text;
  if (Array.isArray(value)) return value.map(cleanJson);
  if (typeof value !== 'object' || value === null) return value;
  // Fields as such: one named `__proto__` is a field like any other.
  return Object.fromEntries(Object.entries(value).map(([name, item]) => [cleanUntrusted(name).text, cleanJson(item)]));
};
