import type { JSONValue } from '@jmespath-community/jmespath';
import type { Outcome } from '@toolfabric/contract';
import { compileExpression } from './condition.ts';

export const OUTCOME_RULES = { longest: 300, fields: new Set(['data', 'summary', 'content']), whole: 'an outcome' };

/**
 * Whether a condition holds for an outcome. Throws an `Error` when it cannot be said, as for a function of a field that
 * is not there.
 */
export type OutcomeCondition = (outcome: Pick<Outcome, 'data' | 'summary' | 'content'>) => boolean;

/**
 * Compiles a condition: a JMESPath expression over `{data, summary, content}` of an outcome. Throws `contract_invalid`
 * with the reason.
 */
export const compileCondition = (expression: string): OutcomeCondition => {
  const holds = compileExpression(expression, OUTCOME_RULES);
  return ({ data = null, summary, content = [] }) => holds({ data, summary, content } as JSONValue);
};
