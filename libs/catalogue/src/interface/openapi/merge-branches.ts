import { isSchemaObject, type SchemaObject } from '../../schema-keywords.ts';
import { followed } from './follow-reference.ts';

const MAX_BRANCHES = 20;
const MAX_DEPTH = 8;
const MERGED = new Set(
  'type properties required description title example additionalProperties allOf discriminator'.split(' '),
);

const isMergeable = (schema: SchemaObject): boolean =>
  Object.keys(schema).every((keyword) => MERGED.has(keyword) || keyword.startsWith('x-')) &&
  (schema.type === undefined || schema.type === 'object');

const branchesOf = (document: SchemaObject, schema: SchemaObject): SchemaObject[] | undefined => {
  const { allOf } = schema;
  if (!Array.isArray(allOf) || allOf.length === 0 || allOf.length > MAX_BRANCHES) return undefined;
  return allOf.map((branch) => followed(document, branch));
};

/**
 * A schema whose `allOf` says nothing but fields of one object, as that object; a single branch as itself. Anything else
 * stays as it is. Throws an `Error` for references that lead nowhere or do not end.
 */
export const mergeBranches = (document: SchemaObject, schema: SchemaObject, depth = 0): SchemaObject => {
  const branches = branchesOf(document, schema);
  if (branches === undefined) return schema;
  if (depth > MAX_DEPTH) throw new Error(`allOf is nested more than ${MAX_DEPTH} levels deep`);
  const { allOf: _, ...own } = schema;
  const whole = branches.map((branch) => mergeBranches(document, branch, depth + 1));
  if (whole.length === 1 && whole[0] !== undefined) return { ...whole[0], ...own };
  const parts = [...whole, own];
  if (!parts.every(isMergeable)) return schema;
  const properties = parts.map(({ properties: some }) => (isSchemaObject(some) ? some : {}));
  const names = properties.flatMap((some) => Object.keys(some));
  if (new Set(names).size !== names.length) return schema;
  return {
    ...own,
    type: 'object',
    properties: Object.assign({}, ...properties),
    required: [...new Set(parts.flatMap(({ required }) => (Array.isArray(required) ? required : [])))],
    ...(parts.some(({ additionalProperties }) => additionalProperties === false)
      ? { additionalProperties: false }
      : {}),
  };
};
