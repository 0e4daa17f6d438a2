import { pointerTokens } from './json-pointer.ts';
import { ANNOTATIONS, isSchemaObject, KEYWORDS, type Schema, type SchemaObject } from './schema-keywords.ts';

const MAX_FOLLOWED = 4000;

/**
 * A schema with references put in place and annotations left out: what it asserts, in a form that can be compared.
 * For schemas that passed `inspectSchema`; a reference that leads nowhere or round in circles becomes `{}`.
 */
export const standaloneSchema = (root: SchemaObject): SchemaObject => {
  const definitions = isSchemaObject(root.$defs) ? root.$defs : {};
  let followed = 0;

  const expandReference = (reference: unknown, rest: SchemaObject, open: ReadonlySet<string>): Schema => {
    const name = pointerTokens(String(reference)).at(-1) ?? '';
    followed += 1;
    if (open.has(name) || followed > MAX_FOLLOWED || !Object.hasOwn(definitions, name)) return {};
    const target = expand(definitions[name], new Set([...open, name]));
    if (Object.keys(rest).length === 0) return target;
    return { ...rest, allOf: [...(Array.isArray(rest.allOf) ? rest.allOf : []), target] };
  };

  const expandValue = (keyword: string, value: unknown, open: ReadonlySet<string>): unknown => {
    const kind = KEYWORDS.get(keyword);
    if (kind === 'schema') return expand(value, open);
    if (kind === 'list' && Array.isArray(value)) return value.map((item) => expand(item, open));
    if (kind === 'map' && isSchemaObject(value)) {
      return Object.fromEntries(Object.entries(value).map(([name, item]) => [name, expand(item, open)]));
    }
    return value;
  };

  const expand = (schema: unknown, open: ReadonlySet<string>): Schema => {
    if (typeof schema === 'boolean') return schema;
    if (!isSchemaObject(schema)) return {};
    const entries = Object.entries(schema)
      .filter(([keyword]) => keyword !== '$ref' && keyword !== '$defs' && !ANNOTATIONS.has(keyword))
      .map(([keyword, value]): [string, unknown] => [keyword, expandValue(keyword, value, open)]);
    const rest = Object.fromEntries(entries);
    return schema.$ref === undefined ? rest : expandReference(schema.$ref, rest, open);
  };

  const expanded = expand(root, new Set());
  return typeof expanded === 'boolean' ? {} : expanded;
};
