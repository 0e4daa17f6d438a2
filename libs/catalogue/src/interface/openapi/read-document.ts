import { depthOf, FabricError } from '@toolfabric/kernel';
import { parseYaml } from '../../parse-yaml.ts';
import { isSchemaObject, type SchemaObject } from '../../schema-keywords.ts';

/** Bytes of a document. */
export const MAX_DOCUMENT = 8 * 1024 ** 2;
const MAX_DEPTH = 60;

const refuse = (message: string): FabricError => new FabricError('contract_invalid', message);

/** JSON has no other values: numbers that end, whole characters, lists and objects. */
const isJson = (value: unknown): boolean => {
  if (typeof value === 'string') return value.isWellFormed();
  if (typeof value === 'number') return Number.isFinite(value);
  if (Array.isArray(value)) return value.every(isJson);
  if (typeof value === 'object' && value !== null)
    return Object.entries(value).every(([name, item]) => name.isWellFormed() && isJson(item));
  return value === null || typeof value === 'boolean';
};

/**
 * A YAML or JSON document as data, bounded in size and depth; without aliases, which could make it grow. Throws
 * `contract_invalid`.
 */
export const readDocument = (text: string, source: string): SchemaObject => {
  if (Buffer.byteLength(text) > MAX_DOCUMENT) throw refuse(`${source}: larger than ${MAX_DOCUMENT} bytes`);
  let value: unknown;
  try {
    value = /^\s*\{/.test(text) ? JSON.parse(text) : parseYaml(text);
  } catch (thrown) {
    throw refuse(`${source}: ${thrown instanceof Error ? (thrown.message.split('\n')[0] ?? '') : 'cannot be read'}`);
  }
  if (depthOf(value, MAX_DEPTH) > MAX_DEPTH) throw refuse(`${source}: nested more than ${MAX_DEPTH} levels deep`);
  if (!isJson(value)) throw refuse(`${source}: holds a value that JSON has not`);
  if (!isSchemaObject(value)) throw refuse(`${source}: is no object`);
  return value;
};
