import type { WorkBody } from '@toolfabric/contract';
import { createRedactor, type RedactingStream, type Redactor } from '@toolfabric/results';
import type { WorkerContext } from './worker-context.ts';

export type { RedactingStream, Redactor };

const NOTHING = new Uint8Array(0);

/** Changes nothing; for tests of tools. */
export const plainRedactor: Redactor = {
  text: (text) => text,
  json: (value) => value,
  stream: () => ({ push: (bytes) => bytes, end: () => NOTHING }),
  count: 0,
};

/** The redactor of one execution. Throws `contract_invalid` for a rule that this worker does not know. */
export const redactorOf = (ctx: WorkerContext, { tenant, redact = [] }: WorkBody): Redactor =>
  createRedactor({ secret: ctx.redactionSecret, tenant, rules: redact });
