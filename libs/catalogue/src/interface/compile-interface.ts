import type { ToolContract } from '@toolfabric/contract';
import { FabricError } from '@toolfabric/kernel';
import { ZodError, type z } from 'zod';
import { compileOperation } from './compile-operation.ts';
import { InterfaceDocument } from './interface-document.ts';

const MAX_PROBLEMS = 20;

const issueText = ({ path, message }: z.core.$ZodIssue): string =>
  `${path.map(String).join('.') || 'the whole'}: ${message}`;

/** What an error says about a document, as one line. */
export const whyNot = (thrown: unknown): string => {
  if (thrown instanceof ZodError) return thrown.issues.slice(0, 5).map(issueText).join('; ');
  return thrown instanceof Error ? thrown.message : 'it cannot be read';
};

export interface CompileOptions {
  /** Of the test address instead of the real one. */
  readonly test?: boolean;
}

const baseOf = ({ base, test_base: testBase }: InterfaceDocument, { test = false }: CompileOptions): string => {
  if (!test) return base;
  if (testBase === undefined)
    throw new FabricError('contract_invalid', 'test_base: the document names no test address');
  return testBase;
};

/** Reads first: a write may ask one of them what became of it. */
const inOrder = (contracts: readonly ToolContract[]): ToolContract[] => [
  ...contracts.filter(({ governance }) => governance.risk === 'read'),
  ...contracts.filter(({ governance }) => governance.risk !== 'read'),
];

/**
 * The tools of a declared interface, in an order in which they can be published. Throws `contract_invalid`, whose
 * message names each operation with what cannot be expressed.
 */
export const compileInterface = (value: unknown, options: CompileOptions = {}): ToolContract[] => {
  const parsed = InterfaceDocument.safeParse(value);
  if (!parsed.success) throw new FabricError('contract_invalid', `interface: ${whyNot(parsed.error)}`);
  const base = baseOf(parsed.data, options);
  const problems: string[] = [];
  const contracts = parsed.data.operations.flatMap((operation) => {
    try {
      return [compileOperation(parsed.data, operation, base)];
    } catch (thrown) {
      problems.push(`${operation.name}: ${whyNot(thrown)}`);
      return [];
    }
  });
  const names = contracts.map(({ name }) => name);
  const twice = names.filter((name, at) => names.indexOf(name) !== at);
  problems.push(...twice.map((name) => `${name}: stands here twice`));
  if (problems.length > 0) throw new FabricError('contract_invalid', problems.slice(0, MAX_PROBLEMS).join('\n'));
  return inOrder(contracts);
};
