import type { CedarValueJson, Type, TypeOfAttribute } from '@cedar-policy/cedar-wasm/nodejs';
import { EngineFailure } from './slots.ts';

type Schema = Readonly<Record<string, unknown>>;

const isObject = (value: unknown): value is Schema =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** Cedar keeps names that begin so for itself. */
const isUsable = (name: string): boolean => !name.startsWith('__') && name.isWellFormed();

const SCALARS: Readonly<Record<string, Type<string>>> = {
  string: { type: 'String' },
  integer: { type: 'Long' },
  boolean: { type: 'Boolean' },
};

const typeNameOf = (schema: Schema): string | undefined => {
  if (typeof schema['type'] === 'string') return schema['type'];
  const values = Array.isArray(schema['enum']) ? schema['enum'] : 'const' in schema ? [schema['const']] : [];
  return values.length > 0 && values.every((value) => typeof value === 'string') ? 'string' : undefined;
};

const MOST_DEEP = 4;

/** The attributes of a record that Cedar can type; others are not told to policies. */
export const recordType = (
  schema: Schema,
  deep = 0,
): { type: 'Record'; attributes: Record<string, TypeOfAttribute<string>> } => {
  const properties = isObject(schema['properties']) ? schema['properties'] : {};
  const required: readonly unknown[] = Array.isArray(schema['required']) ? schema['required'] : [];
  const attributes: Record<string, TypeOfAttribute<string>> = {};
  for (const [name, property] of Object.entries(properties)) {
    const type = isUsable(name) ? typeOf(property, deep) : undefined;
    if (type === undefined) continue;
    attributes[name] = { ...type, required: required.includes(name) };
    const first = firstOf(name, property);
    if (first !== undefined && !(first in properties)) attributes[first] = { type: 'String', required: false };
  }
  return { type: 'Record', attributes };
};

/** A set has no order; of a list of texts its first, the program of an `argv`, is told beside it. */
const firstOf = (name: string, property: unknown): string | undefined =>
  isObject(property) &&
  property['type'] === 'array' &&
  isObject(property['items']) &&
  typeNameOf(property['items']) === 'string'
    ? `${name}_first`
    : undefined;

const typeOf = (schema: unknown, deep: number): Type<string> | undefined => {
  if (!isObject(schema) || deep >= MOST_DEEP) return undefined;
  const name = typeNameOf(schema) ?? '';
  if (Object.hasOwn(SCALARS, name)) return SCALARS[name];
  if (name === 'object' && isObject(schema['properties'])) return recordType(schema, deep + 1);
  if (name !== 'array') return undefined;
  const element = typeOf(schema['items'], deep + 1);
  return element === undefined ? undefined : { type: 'Set', element };
};

type Typed = {
  readonly type?: unknown;
  readonly element?: Typed;
  readonly attributes?: Readonly<Record<string, Typed>>;
};

const cedarValue = (value: unknown, type: Typed): CedarValueJson | undefined => {
  if (type.type === 'String') return typeof value === 'string' && value.isWellFormed() ? value : undefined;
  if (type.type === 'Long') return Number.isSafeInteger(value) ? (value as number) : undefined;
  if (type.type === 'Boolean') return typeof value === 'boolean' ? value : undefined;
  if (type.type === 'Record') return isObject(value) ? recordValue(value, type) : undefined;
  if (!Array.isArray(value) || type.element === undefined) return undefined;
  const items = value.map((item) => cedarValue(item, type.element as Typed));
  return items.includes(undefined) ? undefined : (items as CedarValueJson[]);
};

/**
 * The arguments as their type tells them, and nothing beside it. Throws `EngineFailure`, which denies, for a value that
 * does not fit, such as a text with half a character: left out, it would take the others of its list with it, and every
 * prohibition that looks for them.
 */
export const recordValue = (args: Schema, type: Typed): Record<string, CedarValueJson> => {
  const record: Record<string, CedarValueJson> = {};
  for (const [name, attribute] of Object.entries(type.attributes ?? {})) {
    if (Object.hasOwn(args, name)) {
      const own = cedarValue(args[name], attribute);
      if (own === undefined) throw new EngineFailure(`the argument ${name} cannot be told to the engine`);
      record[name] = own;
    }
    const list =
      name.endsWith('_first') && !Object.hasOwn(args, name) ? args[name.slice(0, -'_first'.length)] : undefined;
    if (Array.isArray(list) && typeof list[0] === 'string' && list[0].isWellFormed()) record[name] = list[0];
  }
  return record;
};
