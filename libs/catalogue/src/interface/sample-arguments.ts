import { FORMAT_EXAMPLES, isAsserted } from '../asserted-formats.ts';
import { isSchemaObject, type Schema, type SchemaObject } from '../schema-keywords.ts';

const MAX_DEPTH = 8;

const sampleText = ({ format, minLength, maxLength }: SchemaObject): string => {
  if (isAsserted(format)) return FORMAT_EXAMPLES[format];
  const least = typeof minLength === 'number' ? Math.min(minLength, 4_000) : 0;
  return 'text'.padEnd(least, 'x').slice(0, typeof maxLength === 'number' ? maxLength : undefined);
};

const sampleNumber = ({ minimum, exclusiveMinimum, maximum }: SchemaObject): number => {
  if (typeof minimum === 'number') return minimum;
  if (typeof exclusiveMinimum === 'number') return exclusiveMinimum + 1;
  return typeof maximum === 'number' && maximum < 1 ? maximum : 1;
};

const sampleObject = (schema: SchemaObject, depth: number): Record<string, unknown> => {
  const properties = isSchemaObject(schema.properties) ? schema.properties : {};
  const required = Array.isArray(schema.required) ? schema.required.map(String) : [];
  return Object.fromEntries(required.map((name) => [name, sampleOf((properties[name] ?? true) as Schema, depth + 1)]));
};

const declared = ({ examples, default: usual, const: only, enum: values }: SchemaObject): unknown =>
  [Array.isArray(examples) ? examples[0] : undefined, usual, only, Array.isArray(values) ? values[0] : undefined].find(
    (value) => value !== undefined,
  );

/** A value that a schema probably takes; whoever uses it asks the schema. */
export const sampleOf = (schema: Schema, depth = 0): unknown => {
  if (!isSchemaObject(schema) || depth > MAX_DEPTH) return null;
  const known = declared(schema);
  if (known !== undefined) return known;
  const [branch] = [schema.anyOf, schema.oneOf].flatMap((list) => (Array.isArray(list) ? list : []));
  if (branch !== undefined) return sampleOf(branch as Schema, depth + 1);
  const type = Array.isArray(schema.type) ? schema.type.find((name) => name !== 'null') : schema.type;
  switch (type) {
    case 'string':
      return sampleText(schema);
    case 'integer':
    case 'number':
      return sampleNumber(schema);
    case 'boolean':
      return true;
    case 'array':
      return Array.from({ length: typeof schema.minItems === 'number' ? Math.min(schema.minItems, 10) : 0 }, () =>
        sampleOf((schema.items ?? true) as Schema, depth + 1),
      );
    case 'object':
      return sampleObject(schema, depth);
    default:
      return null;
  }
};
