import { FabricError } from '@toolfabric/kernel';
import type { SchemaObject } from '../../schema-keywords.ts';
import { whyNot } from '../compile-interface.ts';
import { InterfaceDocument, InterfaceOverlay } from '../interface-document.ts';
import { type FoundOperation, operationsIn, readOperation } from './read-operation.ts';

export interface Imported {
  /** Whole: it can be compiled, or written down and changed by a person. */
  readonly document: InterfaceDocument;
  /** What was left out without changing what can be asked for, one line each. */
  readonly notes: readonly string[];
}

const MAX_NOTES = 100;

const refuse = (message: string): FabricError => new FabricError('contract_invalid', message);

const versionOf = ({ openapi, swagger }: SchemaObject): void => {
  if (typeof openapi === 'string' && /^3\.[01]\.\d+/.test(openapi)) return;
  const said = String(openapi ?? swagger ?? 'nothing').slice(0, 20);
  throw refuse(`openapi: only documents of 3.0 and 3.1 are read, and this one says ${said}`);
};

const find = (all: readonly FoundOperation[], from: string): FoundOperation => {
  const matching = all.filter(({ id, method, path }) => id === from || `${method} ${path}` === from);
  const [found, another] = matching;
  if (found === undefined) throw new Error(`there is no operation ${from.slice(0, 100)}`);
  if (another !== undefined) throw new Error(`${from.slice(0, 100)} names more than one operation`);
  return found;
};

const operationsOf = (document: SchemaObject): FoundOperation[] => {
  try {
    return operationsIn(document);
  } catch (thrown) {
    throw refuse(`openapi: ${whyNot(thrown)}`);
  }
};

/** What stands in the document, and over it what a person has declared. */
const complete = (document: SchemaObject, all: readonly FoundOperation[], notes: string[]) => {
  return ({ from, ...declared }: InterfaceOverlay['operations'][number]): Record<string, unknown> => {
    if (from === undefined) return declared;
    const note = (text: string): void => {
      if (notes.length < MAX_NOTES) notes.push(`${from}: ${text}`);
    };
    return { ...readOperation({ document, note }, find(all, from)), ...declared };
  };
};

/**
 * A declared interface out of an OpenAPI document (3.0 or 3.1, as data) and what a person says beside it. Reads nothing
 * else: no file, no network, no other document. Throws `contract_invalid`, whose message names each operation with what
 * cannot be expressed.
 */
export const importOpenApi = (openapi: SchemaObject, overlay: unknown): Imported => {
  const declared = InterfaceOverlay.safeParse(overlay);
  if (!declared.success) throw refuse(`interface: ${whyNot(declared.error)}`);
  versionOf(openapi);
  const { openapi: _, operations, ...head } = declared.data;
  const notes: string[] = [];
  const problems: string[] = [];
  const completed = complete(openapi, operationsOf(openapi), notes);
  const whole = operations.flatMap((operation) => {
    try {
      return [completed(operation)];
    } catch (thrown) {
      problems.push(`${operation.from ?? operation.name ?? 'operation'}: ${whyNot(thrown)}`);
      return [];
    }
  });
  if (problems.length > 0) throw refuse(problems.slice(0, 20).join('\n'));
  const parsed = InterfaceDocument.safeParse({ ...head, operations: whole });
  if (!parsed.success) throw refuse(`interface: ${whyNot(parsed.error)}`);
  return { document: parsed.data, notes };
};
