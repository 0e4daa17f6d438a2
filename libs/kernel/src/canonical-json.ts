import { hash } from 'node:crypto';

export type Json = string | number | boolean | null | readonly Json[] | { readonly [key: string]: Json };

/**
 * JSON with sorted keys and no white space (RFC 8785 for everything that `JSON.parse` can give). Undefined fields are
 * left out. Throws on what JSON cannot say (NaN, infinities, functions).
 */
export const canonicalJson = (value: unknown): string => {
  if (value === null || typeof value === 'boolean' || typeof value === 'string') return JSON.stringify(value);
  if (typeof value === 'number') {
    if (!Number.isFinite(value)) throw new TypeError('a number that JSON cannot say');
    return JSON.stringify(value);
  }
  if (Array.isArray(value)) return `[${Array.from(value, (item: unknown) => canonicalJson(item ?? null)).join(',')}]`;
  if (typeof value === 'object') {
    const entries = Object.entries(value)
      .filter(([, item]) => item !== undefined)
      .sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0));
    return `{${entries.map(([key, item]) => `${JSON.stringify(key)}:${canonicalJson(item)}`).join(',')}}`;
  }
  throw new TypeError(`a ${typeof value} is not JSON`);
};

export const sha256Hex = (data: string | Uint8Array): string => hash('sha256', data, 'hex');

/** SHA-256 over the canonical form, in hexadecimal. */
export const digestOf = (value: unknown): string => sha256Hex(canonicalJson(value));

/** Levels of nesting; counts no further than `limit + 1`, so that it is safe on hostile input. */
export const depthOf = (value: unknown, limit: number): number => {
  if (value === null || typeof value !== 'object') return 0;
  if (limit <= 0) return 1;
  let deepest = 0;
  for (const item of Object.values(value)) {
    deepest = Math.max(deepest, depthOf(item, limit - 1));
    if (deepest > limit) break;
  }
  return deepest + 1;
};
