import { readFileSync } from 'node:fs';
import type { Json } from '@toolfabric/kernel';
import { UsageError } from './usage-error.ts';

type Args = Record<string, Json>;

/** The text behind `--args`: JSON itself, `@file`, or `-` for standard input. */
export const argumentText = (given: string): string => {
  if (given === '-') return readFileSync(0, 'utf8');
  return given.startsWith('@') ? readFileSync(given.slice(1), 'utf8') : given;
};

const typesOf = (schema: unknown, key: string): unknown[] => {
  const properties = (schema as { properties?: Record<string, { type?: unknown }> } | null)?.properties;
  return [properties?.[key]?.type].flat();
};

/**
 * `key=value` pairs as arguments. A value is text where the tool's schema says so or knows no such field; else it is
 * taken as JSON where it is JSON. `key:=value` is JSON in any case.
 */
export const argumentsFromPairs = (pairs: readonly string[], schema: unknown): Args => {
  const args: Args = Object.create(null);
  for (const pair of pairs) {
    const at = pair.indexOf('=');
    if (at < 1) throw new UsageError(`${pair}: write an argument as key=value`);
    const raw = pair[at - 1] === ':';
    const key = pair.slice(0, raw ? at - 1 : at);
    if (key in args) throw new UsageError(`${key} is given twice`);
    args[key] = raw ? jsonOf(pair.slice(at + 1), key) : bySchema(pair.slice(at + 1), typesOf(schema, key));
  }
  return { ...args };
};

const jsonOf = (text: string, key: string): Json => {
  try {
    return JSON.parse(text) as Json;
  } catch {
    throw new UsageError(`${key}:=${text} is not JSON`);
  }
};

const bySchema = (text: string, types: readonly unknown[]): Json => {
  if (types.includes('string') || types.every((type) => type === undefined)) return text;
  try {
    return JSON.parse(text) as Json;
  } catch {
    return text;
  }
};

export const objectFromJson = (text: string): Args => {
  try {
    const value: unknown = JSON.parse(text);
    if (value !== null && typeof value === 'object' && !Array.isArray(value)) return value as Args;
  } catch {}
  throw new UsageError('--args must be a JSON object');
};
