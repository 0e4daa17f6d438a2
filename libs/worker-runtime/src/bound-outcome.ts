import { ERROR_TABLE, MAX_OUTPUT_BYTES, type Outcome } from '@toolfabric/contract';

const sizeOf = (value: unknown): number => (value === undefined ? 0 : Buffer.byteLength(JSON.stringify(value)));

/**
 * A result must fit a message. Tools keep to their budget themselves; what is still too large loses its data and
 * content, says so, and keeps status, side effect and evidence: whether a write happened is never lost to its size.
 */
export const boundOutcome = (outcome: Outcome, budget: number): Outcome => {
  const limit = Math.min(budget, MAX_OUTPUT_BYTES);
  const total = sizeOf(outcome.data) + sizeOf(outcome.content);
  if (total <= limit) return outcome;
  const { data, content, ...rest } = outcome;
  return {
    ...rest,
    summary: `${outcome.summary} (the output was larger than the budget and was left out)`.slice(0, 4096),
    truncation: [...(outcome.truncation ?? []).slice(0, 15), { stream: 'output', kept: 0, total, unit: 'bytes' }],
  };
};

/** `ok` without the effect that the contract promises, or an effect that never began, would break L3. */
export const checkOutcome = (outcome: Outcome, began: boolean): Outcome => {
  if (outcome.sideEffect === 'none' || began) return outcome;
  const message = 'The tool reported an effect that it had never begun.';
  return {
    status: 'error',
    summary: message,
    sideEffect: 'none',
    trust: 'trusted',
    error: { type: 'internal', layer: ERROR_TABLE.internal.layer, message, retryable: false },
  };
};
