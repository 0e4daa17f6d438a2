/** How a keyword holds subschemas; `plain` ones hold none. */
export type KeywordKind = 'plain' | 'schema' | 'list' | 'map';

const group = (kind: KeywordKind, names: string): [string, KeywordKind][] =>
  names.split(' ').map((name): [string, KeywordKind] => [name, kind]);

/**
 * Every keyword that an input schema may use: what the validator asserts, and annotations that a model reads. Others
 * are refused, since a keyword that nothing asserts would promise something. Identifiers and dynamic references are
 * left out on purpose: a schema stands alone.
 */
export const KEYWORDS: ReadonlyMap<string, KeywordKind> = new Map([
  ...group('map', 'properties patternProperties $defs dependentSchemas'),
  ...group('list', 'allOf anyOf oneOf prefixItems'),
  ...group('schema', 'items additionalProperties propertyNames contains not if then else'),
  ...group('schema', 'unevaluatedProperties unevaluatedItems'),
  ...group('plain', 'type enum const multipleOf maximum exclusiveMaximum minimum exclusiveMinimum'),
  ...group('plain', 'maxLength minLength pattern format maxItems minItems uniqueItems maxContains minContains'),
  ...group('plain', 'maxProperties minProperties required dependentRequired $ref $schema'),
  ...group('plain', 'title description default examples deprecated readOnly writeOnly $comment'),
]);

/** Keywords that say nothing about which arguments are valid. */
export const ANNOTATIONS: ReadonlySet<string> = new Set(
  'title description default examples deprecated readOnly writeOnly $comment $schema'.split(' '),
);

export type SchemaObject = Readonly<Record<string, unknown>>;
export type Schema = boolean | SchemaObject;

export const isSchemaObject = (value: unknown): value is SchemaObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** The direct subschemas of a schema, each with the path that leads to it. */
export const subschemasOf = (schema: SchemaObject): { keyword: string; path: string[]; schema: unknown }[] =>
  Object.entries(schema).flatMap(([keyword, value]) => {
    const kind = KEYWORDS.get(keyword);
    if (kind === 'schema') return [{ keyword, path: [keyword], schema: value }];
    if (kind === 'list' && Array.isArray(value)) {
      return value.map((item, i) => ({ keyword, path: [keyword, String(i)], schema: item as unknown }));
    }
    if (kind === 'map' && isSchemaObject(value)) {
      return Object.entries(value).map(([name, item]) => ({ keyword, path: [keyword, name], schema: item }));
    }
    return [];
  });
