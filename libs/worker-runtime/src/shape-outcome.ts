import { type DecisionSummary, MAX_OUTPUT_BYTES, type Outcome } from '@toolfabric/contract';
import { fitToBudget } from '@toolfabric/results';
import { boundOutcome, dropHuge, parseOutcome } from './bound-outcome.ts';
import { redactOutcome } from './redact-outcome.ts';
import type { Redactor } from './redactor.ts';

/**
 * What a tool returned, as it leaves the worker: of the right shape, without secrets, within its budget of bytes and
 * tokens. In this order, since a secret that was cut in half would not be found any more. Throws for what is no outcome.
 */
export const shapeOutcome = (
  returned: unknown,
  redactor: Redactor,
  { outputBytes, outputTokens }: DecisionSummary['limits'],
): Outcome => {
  const bytes = Math.min(outputBytes, MAX_OUTPUT_BYTES);
  const parsed = parseOutcome(returned);
  // What is left out for its size is said in the summary, for which that may be cut.
  const fitting = dropHuge({ ...parsed, summary: redactor.text(parsed.summary) });
  const budget = outputTokens === undefined ? { bytes } : { bytes, tokens: outputTokens };
  return boundOutcome(fitToBudget(redactOutcome(redactor, fitting), budget), outputBytes);
};
