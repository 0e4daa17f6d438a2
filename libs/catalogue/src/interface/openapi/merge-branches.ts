import { isSchemaObject, type SchemaObject } from '../../schema-keywords.ts';
import { followed } from './follow-reference.ts';

const MAX_BRANCHES = 20;
const MAX_DEPTH = 8;
/** Branches of all levels together: each level may hold the next one many times. */
const MAX_FOLLOWED = 200;
const MAX_FIELDS = 1_000;
const MERGED = new Set(
  'type properties required description title example additionalProperties allOf discriminator'.split(' '),
);

const isMergeable = (schema: SchemaObject): boolean =>
  Object.keys(schema).every((keyword) => MERGED.has(keyword) || keyword.startsWith('x-')) &&
  (schema.type === undefined || schema.type === 'object');

interface Merging {
  readonly document: SchemaObject;
  followed: number;
}

const branchesOf = (merging: Merging, schema: SchemaObject): SchemaObject[] | undefined => {
  const { allOf } = schema;
  const { document } = merging;
  if (!Array.isArray(allOf) || allOf.length === 0 || allOf.length > MAX_BRANCHES) return undefined;
  merging.followed += allOf.length;
  if (merging.followed > MAX_FOLLOWED) throw new Error(`allOf unfolds to more than ${MAX_FOLLOWED} branches`);
  return allOf.map((branch) => followed(document, branch));
};

const merge = (merging: Merging, schema: SchemaObject, depth: number): SchemaObject => {
  const branches = branchesOf(merging, schema);
  if (branches === undefined) return schema;
  if (depth > MAX_DEPTH) throw new Error(`allOf is nested more than ${MAX_DEPTH} levels deep`);
  const { allOf: _, ...own } = schema;
  const whole = branches.map((branch) => merge(merging, branch, depth + 1));
  if (whole.length === 1 && whole[0] !== undefined) return { ...whole[0], ...own };
  const parts = [...whole, own];
  if (!parts.every(isMergeable)) return schema;
  const properties = parts.map(({ properties: some }) => (isSchemaObject(some) ? some : {}));
  const names = properties.flatMap((some) => Object.keys(some));
  if (names.length > MAX_FIELDS) throw new Error(`allOf unfolds to more than ${MAX_FIELDS} fields`);
  if (new Set(names).size !== names.length) return schema;
  return {
    ...own,
    type: 'object',
    // Fields as such: one named `__proto__` is a field like any other.
    properties: Object.fromEntries(properties.flatMap((some) => Object.entries(some))),
    required: [...new Set(parts.flatMap(({ required }) => (Array.isArray(required) ? required : [])))],
    ...(parts.some(({ additionalProperties }) => additionalProperties === false)
      ? { additionalProperties: false }
      : {}),
  };
};

/**
 * A schema whose `allOf` says nothing but fields of one object, as that object; a single branch as itself. Anything else
 * stays as it is. Throws an `Error` for references that lead nowhere or do not end, and for
 * what unfolds too far.
 */
export const mergeBranches = (document: SchemaObject, schema: SchemaObject): SchemaObject =>
  merge({ document, followed: 0 }, schema, 0);
