import { canonicalJson } from '@toolfabric/kernel';
import { escapeToken } from './json-pointer.ts';
import { isSchemaObject, type Schema, type SchemaObject } from './schema-keywords.ts';
import { standaloneSchema } from './standalone-schema.ts';

const ALL_TYPES = ['null', 'boolean', 'number', 'string', 'array', 'object'];
const LOWER = ['minLength', 'minItems', 'minProperties', 'minimum', 'exclusiveMinimum'];
const SIZES = ['minLength', 'minItems', 'minProperties'];
const UPPER = ['maxLength', 'maxItems', 'maxProperties', 'maximum', 'exclusiveMaximum'];
/** May be dropped, and may not be added or changed. */
const DROPPABLE =
  'pattern format multipleOf not allOf anyOf oneOf propertyNames dependentRequired dependentSchemas'.split(' ');
/** Act together with their neighbours: any difference counts. */
const ENTANGLED = 'patternProperties prefixItems unevaluatedProperties unevaluatedItems'.split(' ');
const GROUPS = [
  ['if', 'then', 'else'],
  ['contains', 'minContains', 'maxContains'],
];
const TOUCHED_BY_UNEVALUATED = ['unevaluatedProperties', 'unevaluatedItems'];

const isSame = (a: unknown, b: unknown): boolean => canonicalJson(a ?? null) === canonicalJson(b ?? null);

const typeOfValue = (value: unknown): string =>
  value === null ? 'null' : Array.isArray(value) ? 'array' : typeof value;

const valuesOf = ({ enum: values, const: value }: SchemaObject): unknown[] | undefined => {
  if (value === undefined) return Array.isArray(values) ? values : undefined;
  return Array.isArray(values) ? values.filter((item) => isSame(item, value)) : [value];
};

const typesOf = (schema: SchemaObject): readonly string[] => {
  if (schema.type !== undefined) return [schema.type].flat().map(String);
  return valuesOf(schema)?.map(typeOfValue) ?? ALL_TYPES;
};

const covers = (types: readonly string[], type: string): boolean =>
  types.includes(type) || (type === 'integer' && types.includes('number'));

const pick = (schema: SchemaObject, keywords: readonly string[]): unknown[] =>
  keywords.map((keyword) => schema[keyword] ?? null);

type Comparison = (before: SchemaObject, after: SchemaObject, path: string) => string[];

const types: Comparison = (before, after, path) => {
  const lost = typesOf(before).filter((type) => !covers(typesOf(after), type));
  return lost.length === 0 ? [] : [`${path}: no longer accepts ${lost.join(', ')}`];
};

const values: Comparison = (before, after, path) => {
  const kept = valuesOf(after)?.map(canonicalJson);
  if (kept === undefined) return [];
  const lost = valuesOf(before)?.filter((value) => !kept.includes(canonicalJson(value)));
  if (lost?.length === 0) return [];
  return [`${path}: accepts fewer values than before`];
};

const limits: Comparison = (before, after, path) => {
  const number = (schema: SchemaObject, keyword: string, fallback: number): number =>
    typeof schema[keyword] === 'number' ? schema[keyword] : fallback;
  const raised = LOWER.filter((keyword) => {
    const lowest = SIZES.includes(keyword) ? 0 : -Infinity;
    return number(after, keyword, lowest) > number(before, keyword, lowest);
  });
  const lowered = UPPER.filter((keyword) => number(after, keyword, Infinity) < number(before, keyword, Infinity));
  const unique = after.uniqueItems === true && before.uniqueItems !== true ? ['uniqueItems'] : [];
  return [...raised, ...lowered, ...unique].map((keyword) => `${path}: ${keyword} was tightened`);
};

const conditions: Comparison = (before, after, path) => {
  const changed = [
    ...DROPPABLE.filter((keyword) => after[keyword] !== undefined && !isSame(before[keyword], after[keyword])),
    ...ENTANGLED.filter((keyword) => !isSame(before[keyword], after[keyword])),
    ...GROUPS.filter((group) => !isSame(pick(before, group), pick(after, group))).map(([name]) => name ?? ''),
  ];
  return changed.map((keyword) => `${path}: ${keyword} was added or changed, which cannot be shown to be harmless`);
};

const propertiesOf = ({ properties }: SchemaObject): SchemaObject => (isSchemaObject(properties) ? properties : {});
const toSchema = (value: unknown): Schema => (typeof value === 'boolean' || isSchemaObject(value) ? value : true);

const fields: Comparison = (before, after, path) => {
  const old = propertiesOf(before);
  const now = propertiesOf(after);
  const names = new Set([...Object.keys(old), ...Object.keys(now)]);
  const undeclared = before.patternProperties === undefined ? before.additionalProperties : true;
  return [...names].flatMap((name) => {
    const was = toSchema(Object.hasOwn(old, name) ? old[name] : undeclared);
    const is = toSchema(Object.hasOwn(now, name) ? now[name] : after.additionalProperties);
    return narrowings(was, is, `${path}/${escapeToken(name)}`);
  });
};

const requirements: Comparison = (before, after, path) => {
  const old = Array.isArray(before.required) ? before.required.map(String) : [];
  const now = Array.isArray(after.required) ? after.required.map(String) : [];
  return now.filter((name) => !old.includes(name)).map((name) => `${path}/${escapeToken(name)}: is required now`);
};

const rest: Comparison = (before, after, path) => [
  ...narrowings(toSchema(before.additionalProperties), toSchema(after.additionalProperties), `${path}/*`),
  ...narrowings(toSchema(before.items), toSchema(after.items), `${path}/-`),
];

const COMPARISONS: readonly Comparison[] = [types, values, limits, conditions, fields, requirements, rest];

/** Why `after` may refuse something that `before` accepts. Both stand alone. Reports rather too much than too little. */
const narrowings = (before: Schema, after: Schema, path: string): string[] => {
  if (after === true || before === false || isSame(before, after)) return [];
  if (after === false) return [`${path}: is refused now`];
  const old = before === true ? {} : before;
  if (TOUCHED_BY_UNEVALUATED.some((keyword) => old[keyword] !== undefined || after[keyword] !== undefined)) {
    return [`${path}: changed beside unevaluated fields, which cannot be shown to be harmless`];
  }
  return COMPARISONS.flatMap((compare) => compare(old, after, path));
};

/** What a caller of the earlier version could trip over: arguments that were accepted and may be refused now. */
export const inputNarrowings = (before: SchemaObject, after: SchemaObject): string[] =>
  narrowings(standaloneSchema(before), standaloneSchema(after), '');

const outputLosses = (before: Schema, after: Schema, path: string): string[] => {
  if (typeof before === 'boolean') return [];
  const now = typeof after === 'boolean' ? {} : after;
  const added = typesOf(now).filter((type) => !covers(typesOf(before), type));
  const still = Array.isArray(now.required) ? now.required : [];
  const promised = Array.isArray(before.required) ? before.required : [];
  return [
    ...(added.length === 0 ? [] : [`${path || '/'}: may also be ${added.join(', ')} now`]),
    ...promised
      .filter((name) => !still.includes(name))
      .map((name) => `${path}/${escapeToken(String(name))}: is no longer sure to be there`),
    ...Object.entries(propertiesOf(before)).flatMap(([name, was]) => {
      const place = `${path}/${escapeToken(name)}`;
      if (!Object.hasOwn(propertiesOf(now), name)) return [`${place}: was removed`];
      return outputLosses(toSchema(was), toSchema(propertiesOf(now)[name]), place);
    }),
    ...(before.items === undefined ? [] : outputLosses(toSchema(before.items), toSchema(now.items), `${path}/-`)),
  ];
};

/** What a reader of the earlier version could miss: fields that went, or that hold other types now. */
export const outputNarrowings = (before: SchemaObject | undefined, after: SchemaObject | undefined): string[] => {
  if (before === undefined) return [];
  return outputLosses(standaloneSchema(before), after === undefined ? {} : standaloneSchema(after), '');
};
