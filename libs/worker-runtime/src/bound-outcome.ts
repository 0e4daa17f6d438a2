import { ERROR_TABLE, MAX_OUTPUT_BYTES, Outcome } from '@toolfabric/contract';

/** Bytes that everything beside data and content may take: summary, evidence, error, artifacts. */
const MAX_REST_BYTES = 16 * 1024;
/** Bytes of what a worker may store when it begins an effect. */
export const MAX_INTENT_BYTES = 16 * 1024;

const sizeOf = (value: unknown): number => (value === undefined ? 0 : Buffer.byteLength(JSON.stringify(value)));

const withoutOutput = (outcome: Outcome, total: number): Outcome => {
  const { data, content, ...rest } = outcome;
  return {
    ...rest,
    summary: `${outcome.summary.slice(0, 3_900)} (the output was larger than the budget and was left out)`,
    truncation: [...(outcome.truncation ?? []).slice(0, 15), { stream: 'output', kept: 0, total, unit: 'bytes' }],
  };
};

/** What must never be lost to size: how it ended, and whether anything happened. */
const bare = ({ status, summary, sideEffect, trust, origin, error }: Outcome): Outcome => ({
  status,
  summary: summary.slice(0, 1_000),
  sideEffect,
  trust,
  ...(origin === undefined ? {} : { origin: origin.slice(0, 200) }),
  ...(error === undefined
    ? {}
    : {
        error: {
          type: error.type,
          layer: error.layer,
          retryable: error.retryable,
          message: error.message.slice(0, 1_000),
        },
      }),
});

/**
 * A result must fit a message. Tools keep to their budget themselves; what is still too large loses its data and
 * content, says so, and keeps status, side effect and evidence: whether a write happened is never lost to its size.
 */
export const boundOutcome = (outcome: Outcome, budget: number): Outcome => {
  const total = sizeOf(outcome.data) + sizeOf(outcome.content);
  const fitting = total <= Math.min(budget, MAX_OUTPUT_BYTES) ? outcome : withoutOutput(outcome, total);
  const { data, content, ...rest } = fitting;
  return sizeOf(rest) <= MAX_REST_BYTES ? fitting : bare(fitting);
};

/**
 * What a tool returned, in the only shape that the ledger can store and read again. Throws for anything else: the
 * caller decides by whether the effect had begun.
 */
export const parseOutcome = (returned: unknown): Outcome => {
  const parsed = Outcome.safeParse(JSON.parse(JSON.stringify(returned)));
  if (parsed.success) return parsed.data;
  throw new TypeError('the tool returned no valid outcome');
};

/** Bytes of an output that are worth reading through; more than that never fits, whatever is cut from it. */
const MAX_READ_BYTES = 1024 * 1024;

/** An output beyond every budget is left out before anything walks through it. */
export const dropHuge = (outcome: Outcome): Outcome => {
  const total = sizeOf(outcome.data) + sizeOf(outcome.content);
  return total <= MAX_READ_BYTES ? outcome : withoutOutput(outcome, total);
};

/**
 * An effect that the tool reports without having begun it is a fault of the tool, and still an effect: nobody knows
 * what happened, so it is never told as none (L3).
 */
export const checkOutcome = (outcome: Outcome, began: boolean): Outcome => {
  if (outcome.sideEffect === 'none' || began) return outcome;
  const message = 'The tool reported an effect that it had never begun.';
  return {
    status: 'unknown',
    summary: message,
    sideEffect: 'possible',
    trust: 'trusted',
    error: { type: 'internal', layer: ERROR_TABLE.internal.layer, message, retryable: false },
  };
};
