import { cutText } from './describe-value.ts';
import { isSchemaObject } from './schema-keywords.ts';

const MAX_LISTED = 20;
const MAX_DESCRIBED = 200;

/** `"a", "b"` and how many more. */
export const listValues = (values: readonly unknown[]): string => {
  const shown = values.slice(0, MAX_LISTED).map((value) => cutText(JSON.stringify(value), 60));
  const left = values.length - shown.length;
  return cutText(shown.join(', ') + (left > 0 ? ` and ${left} more` : ''), MAX_DESCRIBED);
};

/** What a schema wants, in a few words. */
export const describeSchema = (schema: unknown): string => {
  if (!isSchemaObject(schema)) return 'any value';
  if (Array.isArray(schema.enum)) return `one of ${listValues(schema.enum)}`;
  if (schema.const !== undefined) return listValues([schema.const]);
  const types = Array.isArray(schema.type) ? schema.type.join(' or ') : schema.type;
  if (types === 'array' && isSchemaObject(schema.items)) return cutText(`array of ${describeSchema(schema.items)}`, 80);
  if (typeof types === 'string') return typeof schema.format === 'string' ? `${types} (${schema.format})` : types;
  if (Array.isArray(schema.required)) return `an object with ${listValues(schema.required)}`;
  return 'a value as the schema describes it';
};

/** The description that the author gave, as a part of a hint. */
export const descriptionOf = (schema: unknown): string | undefined =>
  isSchemaObject(schema) && typeof schema.description === 'string'
    ? cutText(schema.description, MAX_DESCRIBED)
    : undefined;
