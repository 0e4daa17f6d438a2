import type { Outcome } from '@toolfabric/contract';
import { FabricError } from '@toolfabric/kernel';
import type { Redactor } from '@toolfabric/worker-runtime';

/** Characters of a summary. */
const MOST_SUMMARY = 4_096;

/** RS-5: redacted first, since half a secret would not be found any more. */
export const cutText = (redactor: Redactor, text: string, most: number): string =>
  redactor.text(text).slice(0, most).toWellFormed();

/** An error that ended a call before anything came of it; `so` is a sentence that says that. */
export const toldError = (redactor: Redactor, error: FabricError, so: string): Outcome => {
  const { hint } = error.details;
  const message = redactor.text(error.message);
  const details = { ...error.details, ...(hint === undefined ? {} : { hint: redactor.text(hint) }) };
  return {
    status: 'error',
    summary: `${message.slice(0, MOST_SUMMARY - so.length - 1)} ${so}`,
    error: new FabricError(error.type, message, details).toToolError(),
    sideEffect: 'none',
    trust: 'trusted',
  };
};
