import type { JSONValue } from '@jmespath-community/jmespath';
import type { Outcome, ReconcileQuery } from '@toolfabric/contract';
import { FabricError } from '@toolfabric/kernel';
import { compileValue } from './condition.ts';
import { readPointer } from './json-pointer.ts';
import { compileCondition, OUTCOME_RULES } from './outcome-condition.ts';
import { isSchemaObject } from './schema-keywords.ts';
import { parseTemplate } from './template.ts';

type Json = JSONValue;

const inText = (value: unknown): string => (typeof value === 'string' ? value : JSON.stringify(value));

const fillText = (text: string, args: unknown): Json => {
  const parts = parseTemplate(text);
  const values = parts.map((part) => {
    if ('text' in part) return part.text;
    const value = readPointer(args, part.pointer);
    if (value !== undefined) return value;
    throw new FabricError('invalid_arguments', `the argument ${part.pointer} is needed here`);
  });
  // A text that is one pointer stands for the value itself.
  const [only] = parts;
  if (parts.length === 1 && only !== undefined && 'pointer' in only) return values[0] as Json;
  return values.map(inText).join('');
};

/** The arguments of the question, with the values of the call where they name them. Throws `invalid_arguments`. */
export const fillArguments = (template: unknown, args: unknown): Json => {
  if (typeof template === 'string') return fillText(template, args);
  if (Array.isArray(template)) return template.map((item) => fillArguments(item, args));
  if (!isSchemaObject(template)) return template as Json;
  return Object.fromEntries(Object.entries(template).map(([name, item]) => [name, fillArguments(item, args)]));
};

/** Pointers into the arguments of the call that the question needs. Throws `contract_invalid` for a brace that opens none. */
export const queryPointers = (template: unknown): string[] => {
  if (typeof template === 'string')
    return parseTemplate(template).flatMap((part) => ('pointer' in part ? [part.pointer] : []));
  if (Array.isArray(template)) return template.flatMap(queryPointers);
  return isSchemaObject(template) ? Object.values(template).flatMap(queryPointers) : [];
};

/** What an answer says. Only a found id proves that it happened, and only `absent` that it did not. */
export type QueryAnswer =
  | { readonly answer: 'found'; readonly id: string }
  | { readonly answer: 'absent' }
  | { readonly answer: 'not_visible' }
  | { readonly answer: 'failed' };

export type QueryReader = (outcome: Outcome) => QueryAnswer;

const MAX_ID = 500;

const idOf = (value: Json): string | undefined =>
  (typeof value === 'string' && value !== '') || typeof value === 'number' ? String(value).slice(0, MAX_ID) : undefined;

const read = (find: (value: Json) => Json, isAbsent: (outcome: Outcome) => boolean, outcome: Outcome): QueryAnswer => {
  if (outcome.status !== 'ok') return { answer: 'failed' };
  const { data = null, summary, content = [], truncation = [] } = outcome;
  const id = idOf(find({ data, summary, content } as Json));
  if (id !== undefined) return { answer: 'found', id };
  // What was cut away may hold what was looked for.
  return truncation.length === 0 && isAbsent(outcome) ? { answer: 'absent' } : { answer: 'not_visible' };
};

/**
 * Compiles what the answers of a query say about an unknown outcome (protocol 7). Throws `contract_invalid` with the
 * reason; the reader itself never throws: what cannot be read is `failed`.
 */
export const compileQuery = ({ id, absent }: Pick<ReconcileQuery, 'id' | 'absent'>): QueryReader => {
  const find = compileValue(id, OUTCOME_RULES);
  const isAbsent = absent === undefined ? () => false : compileCondition(absent);
  return (outcome) => {
    try {
      return read(find, isAbsent, outcome);
    } catch {
      return { answer: 'failed' };
    }
  };
};
