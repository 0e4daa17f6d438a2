import type { JSONValue } from '@jmespath-community/jmespath';
import type { TaskRecord, ToolContract } from '@toolfabric/contract';
import { compileExpression } from './condition.ts';
import { isSchemaObject } from './schema-keywords.ts';

/** Beside the arguments: the program that the task declared, with its arguments; empty when it declared none. */
export const DECLARED_FIELD = 'test_command';

/** Whether a call is more dangerous than its contract says. Throws an `Error` when it cannot be said. */
export type RaiseCondition = (
  args: Readonly<Record<string, unknown>>,
  task: Pick<TaskRecord, 'testCommand'>,
) => boolean;

export const argumentNames = ({ input }: Pick<ToolContract, 'input'>): readonly string[] =>
  isSchemaObject(input.properties) ? Object.keys(input.properties) : [];

/**
 * Compiles a `raise` rule: a JMESPath expression over the arguments by their names and `test_command` of the task.
 * Throws `contract_invalid` with the reason.
 */
export const compileRaise = (contract: Pick<ToolContract, 'input'>, when: string): RaiseCondition => {
  const fields = new Set([...argumentNames(contract), DECLARED_FIELD]);
  const holds = compileExpression(when, { longest: 1_000, fields, whole: 'the arguments' });
  return (args, { testCommand }) => holds({ ...args, [DECLARED_FIELD]: testCommand?.argv ?? [] } as JSONValue);
};
