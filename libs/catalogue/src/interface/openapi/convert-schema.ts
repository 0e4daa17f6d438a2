import { isAsserted } from '../../asserted-formats.ts';
import { compileLinearPattern, MAX_PATTERN_TEXT } from '../../linear-pattern.ts';
import { isSchemaObject, type Schema, type SchemaObject } from '../../schema-keywords.ts';
import { targetOf } from './follow-reference.ts';
import { mergeBranches } from './merge-branches.ts';
import { plainText } from './plain-text.ts';

/** What is sent is asserted whole; of an answer only types, fields and values, since it may have been cut. */
export type Direction = 'request' | 'response';

export interface Conversion {
  readonly document: SchemaObject;
  readonly direction: Direction;
  /** Said of what was left out without changing what is valid to send. */
  note(text: string): void;
}

const MAX_SCHEMAS = 1_000;
/** Characters of values and patterns, each as often as a reference repeats it. */
const MAX_TEXT = 128 * 1024;
const MAX_DESCRIPTION = 300;
const MAX_EXAMPLE = 200;
const TYPE_OF_KEYWORD: readonly (readonly [type: string, keywords: string])[] = [
  ['object', 'properties required additionalProperties patternProperties minProperties maxProperties'],
  ['array', 'items prefixItems minItems maxItems uniqueItems'],
  ['string', 'minLength maxLength pattern format'],
  ['number', 'minimum maximum exclusiveMinimum exclusiveMaximum multipleOf'],
];
const ASSERTED: Readonly<Record<Direction, ReadonlySet<string>>> = {
  request: new Set(
    (
      'type enum const minimum maximum multipleOf minLength maxLength minItems maxItems uniqueItems minProperties ' +
      'maxProperties required default'
    ).split(' '),
  ),
  response: new Set('type enum const required'.split(' ')),
};
/** Keywords that are read elsewhere here, or that say nothing about what is valid. */
const READ = new Set(
  (
    '$ref $schema $id $comment $defs definitions description title example examples deprecated readOnly writeOnly nullable ' +
    'discriminator xml externalDocs format pattern exclusiveMinimum exclusiveMaximum properties items allOf anyOf oneOf ' +
    'additionalProperties contentMediaType contentEncoding'
  ).split(' '),
);
const MAX_ENUM = 200;

class Converter {
  readonly #options: Conversion;
  #seen = 0;
  #text = 0;
  /** Written down once each, however often a reference repeats them. */
  readonly #examples = new Map<unknown, boolean>();

  constructor(options: Conversion) {
    this.#options = options;
  }

  get #isRequest(): boolean {
    return this.#options.direction === 'request';
  }

  /** What cannot be said is refused in what is sent, and not asserted of what comes back. */
  #cannot(why: string): Schema {
    if (this.#isRequest) throw new Error(why);
    this.#options.note(`not checked in an answer: ${why}`);
    return true;
  }

  #spend(value: unknown): void {
    this.#text += String(JSON.stringify(value)).length;
    if (this.#text > MAX_TEXT)
      throw new Error(`more than ${MAX_TEXT} characters of values once references are followed`);
  }

  #isShort(example: unknown): boolean {
    const isShort = this.#examples.get(example) ?? JSON.stringify(example).length <= MAX_EXAMPLE;
    this.#examples.set(example, isShort);
    return isShort;
  }

  convert(value: unknown, open: readonly string[] = []): Schema {
    this.#seen += 1;
    if (this.#seen > MAX_SCHEMAS) throw new Error(`more than ${MAX_SCHEMAS} schemas once references are followed`);
    if (typeof value === 'boolean') return value;
    if (!isSchemaObject(value)) throw new Error('a schema is an object, true or false');
    if (value.$ref === undefined) return this.#object(value, open);
    const name = String(value.$ref);
    if (open.includes(name)) return this.#cannot(`${name.slice(0, 100)} contains itself`);
    const target = this.convert(targetOf(this.#options.document, value.$ref), [...open, name]);
    const description = plainText(value.description, MAX_DESCRIPTION);
    return isSchemaObject(target) && description !== undefined ? { ...target, description } : target;
  }

  #object(source: SchemaObject, open: readonly string[]): Schema {
    const merged = mergeBranches(this.#options.document, source);
    const type = this.#typeOf(merged);
    const kept: Record<string, unknown> = {
      ...this.#texts(merged),
      ...this.#plain(merged),
      ...this.#bounds(merged, type),
    };
    if (type !== undefined) kept.type = type;
    this.#nullable(merged, kept);
    this.#parts(merged, kept, open);
    return Object.fromEntries(Object.entries(kept).filter(([, said]) => said !== undefined));
  }

  #typeOf(schema: SchemaObject): unknown {
    if (schema.type !== undefined) return schema.type;
    if (['anyOf', 'oneOf', 'allOf', 'enum', 'const'].some((keyword) => schema[keyword] !== undefined)) return undefined;
    return TYPE_OF_KEYWORD.find(([, keywords]) =>
      keywords.split(' ').some((keyword) => schema[keyword] !== undefined),
    )?.[0];
  }

  #texts(schema: SchemaObject): Record<string, unknown> {
    const description = plainText(schema.description ?? schema.title, MAX_DESCRIPTION);
    const examples = Array.isArray(schema.examples)
      ? schema.examples
      : schema.example === undefined
        ? []
        : [schema.example];
    const [first] = examples;
    const isShort = first !== undefined && this.#isShort(first);
    return {
      ...(description === undefined ? {} : { description }),
      ...(isShort && this.#isRequest ? { examples: [first] } : {}),
    };
  }

  #plain(schema: SchemaObject): Record<string, unknown> {
    const kept: Record<string, unknown> = {};
    for (const [keyword, value] of Object.entries(schema)) {
      if (ASSERTED[this.#options.direction].has(keyword)) {
        this.#spend(value);
        kept[keyword] = value;
      } else if (!READ.has(keyword) && !keyword.startsWith('x-') && this.#isRequest)
        throw new Error(`the keyword ${keyword.slice(0, 40)} cannot be expressed`);
    }
    if (Array.isArray(kept.enum) && kept.enum.length > MAX_ENUM) {
      this.#cannot(`more than ${MAX_ENUM} values in one list`);
      delete kept.enum;
    }
    if (kept.uniqueItems === true && kept.maxItems === undefined) kept.maxItems = 1_000;
    return kept;
  }

  /** Forms of OpenAPI 3.0, formats and patterns; none of them is asserted of an answer. */
  #bounds(schema: SchemaObject, type: unknown): Record<string, unknown> {
    if (!this.#isRequest) return {};
    const { format, pattern, maxLength } = schema;
    const bounds: Record<string, unknown> = {};
    for (const [exclusive, plain] of [
      ['exclusiveMinimum', 'minimum'],
      ['exclusiveMaximum', 'maximum'],
    ] as const) {
      if (typeof schema[exclusive] === 'number') bounds[exclusive] = schema[exclusive];
      if (schema[exclusive] === true) Object.assign(bounds, { [exclusive]: schema[plain], [plain]: undefined });
    }
    if (format === 'binary') throw new Error('bytes cannot be sent as JSON');
    if (isAsserted(format) && type === 'string') bounds.format = format;
    if (format === 'int32' && schema.minimum === undefined) bounds.minimum = -(2 ** 31);
    if (format === 'int32' && schema.maximum === undefined) bounds.maximum = 2 ** 31 - 1;
    if (typeof pattern === 'string') {
      this.#spend(pattern);
      compileLinearPattern(pattern);
      Object.assign(bounds, { pattern, maxLength: Math.min(Number(maxLength ?? MAX_PATTERN_TEXT), MAX_PATTERN_TEXT) });
    }
    return bounds;
  }

  #nullable(schema: SchemaObject, kept: Record<string, unknown>): void {
    if (schema.nullable !== true || kept.type === undefined) return;
    kept.type = [...new Set([kept.type, 'null'].flat())];
    if (Array.isArray(kept.enum) && !kept.enum.includes(null)) kept.enum = [...kept.enum, null];
  }

  #parts(schema: SchemaObject, kept: Record<string, unknown>, open: readonly string[]): void {
    const { items, additionalProperties } = schema;
    if (items !== undefined) kept.items = this.convert(items, open);
    for (const keyword of ['anyOf', 'oneOf', 'allOf'] as const) {
      const branches = schema[keyword];
      // Of an answer that was cut more than one may be true.
      const name = keyword === 'oneOf' && !this.#isRequest ? 'anyOf' : keyword;
      if (Array.isArray(branches)) kept[name] = branches.map((branch) => this.convert(branch, open));
    }
    if (![kept.type].flat().includes('object')) return;
    this.#fields(schema, kept, open);
    kept.additionalProperties =
      isSchemaObject(additionalProperties) && this.#isRequest
        ? this.convert(additionalProperties, open)
        : !this.#isRequest || additionalProperties === true;
  }

  /** Without what only the other side writes, or only reads. */
  #fields(schema: SchemaObject, kept: Record<string, unknown>, open: readonly string[]): void {
    const foreign = this.#isRequest ? 'readOnly' : 'writeOnly';
    const all = Object.entries(isSchemaObject(schema.properties) ? schema.properties : {});
    if (all.some(([name]) => name === '__proto__')) this.#cannot('a field cannot be called __proto__');
    const properties = all.filter(
      ([name, property]) => name !== '__proto__' && !(isSchemaObject(property) && property[foreign] === true),
    );
    const converted = properties.map(([name, property]): [string, Schema] => [name, this.convert(property, open)]);
    kept.properties = Object.fromEntries(converted);
    const known = new Set(properties.map(([name]) => name));
    const required = (Array.isArray(schema.required) ? schema.required : []).filter(
      (name) => known.has(name) || (isSchemaObject(schema.additionalProperties) && this.#isRequest),
    );
    if (required.length > 0) kept.required = required;
    else delete kept.required;
  }
}

/**
 * A schema of an OpenAPI document (3.0 or 3.1) as a JSON Schema of 2020-12 that stands alone: references within the
 * document are put in place, objects that are sent take no field that is not named. Throws an `Error` for what cannot be
 * expressed in what is sent.
 */
export const convertSchema = (schema: unknown, conversion: Conversion): Schema =>
  new Converter(conversion).convert(schema);
