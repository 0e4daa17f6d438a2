import { canonicalJson, depthOf } from '@toolfabric/kernel';
import { isAsserted } from './asserted-formats.ts';
import { escapeToken, pointerTokens } from './json-pointer.ts';
import { compileLinearPattern, MAX_PATTERN_TEXT } from './linear-pattern.ts';
import { isSchemaObject, KEYWORDS, type SchemaObject, subschemasOf } from './schema-keywords.ts';

const MAX_SCHEMA_BYTES = 16 * 1024;
const MAX_SCHEMA_DEPTH = 24;
/** Subschemas, with every reference followed each time it stands. */
const MAX_EXPANDED = 2000;
const MAX_ENUM = 200;
const MAX_BRANCHES = 20;
/** Items that may be compared with one another. */
const MAX_COMPARED_ITEMS = 1000;
const MAX_PROBLEMS = 20;
const DIALECT = 'https://json-schema.org/draft/2020-12/schema';
const COMPOSING: ReadonlySet<string> = new Set('allOf anyOf oneOf not if then else dependentSchemas'.split(' '));

interface Place {
  readonly pointer: string;
  /** Part of another schema of the same value, which may state the rest. */
  readonly composed: boolean;
  readonly references: readonly string[];
}

type Report = (place: Place, problem: string) => void;
type Rule = (schema: SchemaObject, place: Place, report: Report) => void;

const typesOf = ({ type }: SchemaObject): readonly unknown[] => (Array.isArray(type) ? type : [type]);

const checkKeywords: Rule = (schema, place, report) => {
  for (const keyword of Object.keys(schema)) {
    if (!KEYWORDS.has(keyword)) report(place, `the keyword "${keyword.slice(0, 40)}" is not supported`);
  }
  if (schema.$schema !== undefined && schema.$schema !== DIALECT) report(place, `$schema may only be ${DIALECT}`);
  if (Array.isArray(schema.enum) && schema.enum.length > MAX_ENUM) report(place, `more than ${MAX_ENUM} enum values`);
};

const checkBranches: Rule = (schema, place, report) => {
  for (const keyword of ['allOf', 'anyOf', 'oneOf', 'prefixItems']) {
    const branches = schema[keyword];
    if (Array.isArray(branches) && branches.length > MAX_BRANCHES) {
      report(place, `more than ${MAX_BRANCHES} branches of ${keyword}`);
    }
  }
};

const checkText: Rule = (schema, place, report) => {
  const { format, pattern, maxLength } = schema;
  if (format !== undefined && !isAsserted(format)) {
    report(place, `the format ${JSON.stringify(format).slice(0, 40)} is unknown and could not be asserted`);
  }
  if (pattern === undefined) return;
  if (typeof maxLength !== 'number' || maxLength > MAX_PATTERN_TEXT) {
    report(place, `a pattern needs a maxLength of at most ${MAX_PATTERN_TEXT} beside it`);
  }
};

const checkPatterns: Rule = (schema, place, report) => {
  const named = isSchemaObject(schema.patternProperties) ? Object.keys(schema.patternProperties) : [];
  for (const pattern of [...named, ...(typeof schema.pattern === 'string' ? [schema.pattern] : [])]) {
    try {
      compileLinearPattern(pattern);
    } catch (error) {
      report(place, (error as Error).message);
    }
  }
};

const checkArray: Rule = ({ uniqueItems, contains, maxItems }, place, report) => {
  const compares = uniqueItems === true || contains !== undefined;
  if (compares && (typeof maxItems !== 'number' || maxItems > MAX_COMPARED_ITEMS)) {
    report(place, `uniqueItems and contains need a maxItems of at most ${MAX_COMPARED_ITEMS} beside them`);
  }
};

const checkObject: Rule = (schema, place, report) => {
  if (place.composed || !typesOf(schema).includes('object')) return;
  if (schema.additionalProperties === undefined && schema.unevaluatedProperties === undefined) {
    report(place, 'an object must say which other fields it allows: set additionalProperties');
  }
  const known = isSchemaObject(schema.properties) ? schema.properties : {};
  if (schema.additionalProperties !== false || schema.patternProperties !== undefined) return;
  for (const name of Array.isArray(schema.required) ? schema.required : []) {
    if (!Object.hasOwn(known, String(name)))
      report(place, `"${String(name).slice(0, 40)}" is required but not defined`);
  }
};

const RULES: readonly Rule[] = [checkKeywords, checkBranches, checkText, checkPatterns, checkArray, checkObject];

/** Which part of a contract a schema is. An input is closed; what a tool answers may have more fields than are named. */
export type SchemaRole = 'input' | 'output';

const checkRoot = (role: SchemaRole, schema: SchemaObject, place: Place, report: Report): void => {
  if (schema.type !== 'object') report(place, `the ${role} must be an object: set type to object`);
  if (role === 'input' && schema.additionalProperties !== false)
    report(place, 'the input must refuse unknown fields: set additionalProperties to false');
};

/** The definition that a reference names, or why it names none. */
const resolveReference = (root: SchemaObject, reference: unknown): { name: string; target: unknown } | string => {
  const tokens = typeof reference === 'string' && reference.startsWith('#/') ? pointerTokens(reference.slice(1)) : [];
  const [where, name = ''] = tokens;
  if (tokens.length !== 2 || where !== '$defs') return '$ref may only name a definition of this schema: #/$defs/name';
  const definitions = isSchemaObject(root.$defs) ? root.$defs : {};
  return Object.hasOwn(definitions, name)
    ? { name, target: definitions[name] }
    : `$ref names no definition: ${name.slice(0, 40)}`;
};

/** Walks a schema with its references followed; bounded by the number of subschemas seen. */
const walk = (root: SchemaObject, role: SchemaRole, report: Report): void => {
  let seen = 0;
  const checked = { alone: new Set<SchemaObject>(), composed: new Set<SchemaObject>() };
  const check = (schema: SchemaObject, place: Place): void => {
    const done = place.composed ? checked.composed : checked.alone;
    if (done.has(schema)) return;
    done.add(schema);
    for (const rule of RULES) rule(schema, place, report);
  };
  const follow = (schema: SchemaObject, place: Place): void => {
    if (schema.$ref === undefined) return;
    const found = resolveReference(root, schema.$ref);
    if (typeof found === 'string') report(place, found);
    else if (place.references.includes(found.name)) report(place, '$ref leads back to itself');
    else visit(found.target, { ...place, references: [...place.references, found.name] });
  };
  const visit = (schema: unknown, place: Place): void => {
    seen += 1;
    if (typeof schema === 'boolean' || seen > MAX_EXPANDED) return;
    if (isSchemaObject(schema)) visitObject(schema, place);
    else report(place, 'a schema is an object, true or false');
  };
  const visitObject = (schema: SchemaObject, place: Place): void => {
    check(schema, place);
    follow(schema, place);
    for (const part of subschemasOf(schema)) {
      if (part.keyword === '$defs' && schema === root) continue;
      const pointer = `${place.pointer}/${part.path.map(escapeToken).join('/')}`.slice(0, 200);
      visit(part.schema, { ...place, pointer, composed: COMPOSING.has(part.keyword) });
    }
  };
  const start: Place = { pointer: '', composed: false, references: [] };
  checkRoot(role, root, start, report);
  visit(root, start);
  for (const [name, definition] of Object.entries(isSchemaObject(root.$defs) ? root.$defs : {})) {
    visit(definition, { pointer: `/$defs/${escapeToken(name)}`.slice(0, 200), composed: true, references: [name] });
  }
  if (seen > MAX_EXPANDED) report(start, `more than ${MAX_EXPANDED} subschemas once references are followed`);
};

/**
 * Why a schema cannot be the input (or the output) of a tool; empty when it can. It must be an object that stands alone,
 * of keywords and formats that are asserted, within limits of size, depth and matching time; an input is closed.
 */
export const inspectSchema = (schema: unknown, role: SchemaRole = 'input'): string[] => {
  if (!isSchemaObject(schema)) return [`the ${role} must be a JSON Schema object`];
  if (depthOf(schema, MAX_SCHEMA_DEPTH) > MAX_SCHEMA_DEPTH) return [`nested more than ${MAX_SCHEMA_DEPTH} levels deep`];
  if (Buffer.byteLength(canonicalJson(schema)) > MAX_SCHEMA_BYTES) return [`larger than ${MAX_SCHEMA_BYTES} bytes`];
  const problems = new Set<string>();
  walk(schema, role, (place, problem) => {
    if (problems.size < MAX_PROBLEMS) problems.add(`${place.pointer || '/'}: ${problem}`);
  });
  return [...problems];
};
