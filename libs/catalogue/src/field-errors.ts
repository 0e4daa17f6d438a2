import type { FieldError } from '@toolfabric/contract';
import { nearestNames } from '@toolfabric/routing';
import type { ErrorObject } from 'ajv';
import { FORMAT_EXAMPLES, isAsserted } from './asserted-formats.ts';
import { describeSchema, descriptionOf, listValues } from './describe-schema.ts';
import { cutText, describeValue, isSecretField } from './describe-value.ts';
import { keepBestBranches } from './error-branches.ts';
import { hideName, hidePointer } from './hide-name.ts';
import { escapeToken } from './json-pointer.ts';
import { isSchemaObject, type SchemaObject } from './schema-keywords.ts';

/** Fields in one answer; the last says how many were left out. */
export const MAX_FIELD_ERRORS = 20;
/** Errors of the validator that are looked at. */
const MAX_EXAMINED = 2000;
const MAX_POINTER = 200;
const MAX_PART = 300;

interface Fault {
  readonly pointer: string;
  /** The pointer as it may be told. */
  readonly shown: string;
  readonly keyword: string;
  readonly params: Readonly<Record<string, unknown>>;
  readonly value: unknown;
  /** The value of the keyword, and the schema that it stands in. */
  readonly asked: unknown;
  readonly schema: SchemaObject;
}
/** What was expected instead, and how to mend it. `pointer` when it is another field than the one at fault. */
type Advice = Partial<FieldError> & { readonly expected: string };
type Adviser = (fault: Fault) => Advice;

const propertiesOf = ({ properties }: SchemaObject): SchemaObject => (isSchemaObject(properties) ? properties : {});

const missing = (shown: string, name: string, schema: SchemaObject): Advice => {
  const property = Object.hasOwn(propertiesOf(schema), name) ? propertiesOf(schema)[name] : undefined;
  const description = descriptionOf(property);
  return {
    field: `${shown}/${escapeToken(name)}`,
    expected: `a required field: ${describeSchema(property)}`,
    got: 'nothing',
    hint: `Add ${JSON.stringify(name)}${description === undefined ? '.' : `: ${description}`}`,
  };
};

const unknown = ({ shown, value, schema }: Fault, name: string): Advice => {
  const known = Object.keys(propertiesOf(schema));
  const near = nearestNames(name, known).map((candidate) => JSON.stringify(candidate));
  const held = isSchemaObject(value) && Object.hasOwn(value, name) ? value[name] : undefined;
  return {
    field: `${shown}/${escapeToken(hideName(name))}`,
    expected: known.length === 0 ? 'no fields' : `only the fields ${listValues(known)}`,
    got: `an unknown field (${describeValue(held, true)})`,
    hint: near.length > 0 ? `Did you mean ${near.join(' or ')}?` : 'Remove this field.',
  };
};

const typeHint = ({ value, schema }: Fault): string | undefined => {
  const wanted = [schema.type].flat();
  const text = typeof value === 'string' ? value.trim() : undefined;
  if (text !== undefined && /^[[{]/.test(text) && (wanted.includes('object') || wanted.includes('array'))) {
    return 'Send the JSON itself, not JSON inside a string.';
  }
  if (text !== undefined && (wanted.includes('integer') || wanted.includes('number')) && /^-?\d/.test(text)) {
    return 'Send the number without quotes.';
  }
  if (text !== undefined && wanted.includes('boolean') && /^(true|false)$/i.test(text))
    return 'Send it without quotes.';
  if (wanted.includes('array') && !isSchemaObject(value) && value !== null)
    return 'Put the value into an array: [ … ].';
  return undefined;
};

const type: Adviser = (fault) => {
  const hint = typeHint(fault);
  return { expected: describeSchema(fault.schema), ...(hint === undefined ? {} : { hint }) };
};

const choice: Adviser = ({ value, asked }) => {
  const values = Array.isArray(asked) ? asked : [asked];
  const names = values.filter((item) => typeof item === 'string');
  const near = typeof value === 'string' ? nearestNames(value, names).map((name) => JSON.stringify(name)) : [];
  return {
    expected: `${values.length === 1 ? '' : 'one of '}${listValues(values)}`,
    ...(near.length === 0 ? {} : { hint: `Did you mean ${near.join(' or ')}?` }),
  };
};

const bound =
  (text: string, size?: (value: unknown) => string): Adviser =>
  ({ asked, value }) => ({ expected: `${text.replace('#', String(asked))}`, ...(size ? { got: size(value) } : {}) });

const characters = (value: unknown): string => `${[...String(value)].length} characters`;
const items = (value: unknown): string => `${Array.isArray(value) ? value.length : 0} items`;

const format: Adviser = ({ asked }) => ({
  expected: isAsserted(asked) ? `${asked}, such as ${FORMAT_EXAMPLES[asked]}` : String(asked),
});

const alternatives =
  (text: string): Adviser =>
  ({ asked }) => ({
    expected: `${text}: ${(Array.isArray(asked) ? asked : []).slice(0, 8).map(describeSchema).join('; ')}`,
  });

const needsCompanion: Adviser = ({ shown, params, schema }) => missing(shown, String(params.missingProperty), schema);

const unknownField: Adviser = (fault) =>
  unknown(fault, String(fault.params.additionalProperty ?? fault.params.unevaluatedProperty));

/** One adviser a keyword; what is not listed gets a general answer. */
const ADVISERS: ReadonlyMap<string, Adviser> = new Map<string, Adviser>([
  ['required', needsCompanion],
  ['dependentRequired', needsCompanion],
  ['additionalProperties', unknownField],
  ['unevaluatedProperties', unknownField],
  ['type', type],
  ['enum', choice],
  ['const', choice],
  ['format', format],
  ['pattern', bound('text that matches #')],
  ['minLength', bound('at least # characters', characters)],
  ['maxLength', bound('at most # characters', characters)],
  ['minimum', bound('a number of at least #')],
  ['maximum', bound('a number of at most #')],
  ['exclusiveMinimum', bound('a number above #')],
  ['exclusiveMaximum', bound('a number below #')],
  ['multipleOf', bound('a multiple of #')],
  ['minItems', bound('at least # items', items)],
  ['maxItems', bound('at most # items', items)],
  ['minProperties', bound('at least # fields')],
  ['maxProperties', bound('at most # fields')],
  [
    'uniqueItems',
    ({ params }) => ({ expected: 'items that differ', got: `items ${params.i} and ${params.j} are equal` }),
  ],
  [
    'propertyNames',
    ({ params }) => ({
      expected: `field names as the schema asks for, unlike ${cutText(JSON.stringify(hideName(String(params.propertyName))), 60)}`,
    }),
  ],
  ['anyOf', alternatives('one of several shapes')],
  ['oneOf', alternatives('exactly one of several shapes')],
  ['not', () => ({ expected: 'a value that the schema does not exclude' })],
  ['contains', () => ({ expected: 'an array with an item as the schema asks for' })],
  ['false schema', () => ({ expected: 'no value here', hint: 'Remove this field.' })],
]);

/** Consequences of another error in the list, which say nothing of their own. */
const ECHOES: ReadonlySet<string> = new Set(['if', 'propertyNames']);

const toFault = (error: ErrorObject): Fault => ({
  pointer: error.instancePath,
  shown: hidePointer(error.instancePath, error.schemaPath),
  keyword: error.keyword,
  params: error.params as Readonly<Record<string, unknown>>,
  value: error.data,
  asked: error.schema,
  schema: isSchemaObject(error.parentSchema) ? error.parentSchema : {},
});

const toFieldError = (error: ErrorObject): FieldError => {
  const fault = toFault(error);
  const adviser = ADVISERS.get(fault.keyword);
  const advice: Advice = adviser?.(fault) ?? { expected: `a value that satisfies ${fault.keyword}` };
  const hint = advice.hint ?? descriptionOf(fault.schema);
  const got = advice.got ?? describeValue(fault.value, isSecretField(fault.pointer, fault.schema));
  return {
    field: cutText(advice.field ?? fault.shown, MAX_POINTER),
    expected: cutText(advice.expected, MAX_PART),
    got: cutText(got, MAX_PART),
    ...(hint === undefined ? {} : { hint: cutText(hint, MAX_PART) }),
  };
};

/** The errors of the validator as advice that a model can act on; short, without repetition, and never more than 20. */
export const toFieldErrors = (errors: readonly ErrorObject[]): FieldError[] => {
  const examined = errors.slice(0, MAX_EXAMINED);
  const kept = keepBestBranches(examined).filter(({ keyword }) => !ECHOES.has(keyword));
  const distinct = new Map<string, FieldError>();
  for (const error of kept.length > 0 ? kept : examined) {
    if (distinct.size > MAX_FIELD_ERRORS) break;
    const fieldError = toFieldError(error);
    distinct.set(`${fieldError.field}\n${fieldError.expected}`, fieldError);
  }
  const all = [...distinct.values()];
  if (all.length <= MAX_FIELD_ERRORS) return all;
  const note = { field: '', expected: 'the fields above corrected first; there are more errors than are listed' };
  return [...all.slice(0, MAX_FIELD_ERRORS - 1), note];
};
