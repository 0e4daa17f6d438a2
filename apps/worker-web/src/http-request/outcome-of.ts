import { ERROR_TABLE, type ErrorType, type HttpOperation, isSafeMethod, type Outcome } from '@toolfabric/contract';
import { unknownOutcome } from '@toolfabric/ledger';
import type { ToolContext } from '@toolfabric/worker-runtime';
import { answerPart } from './answer-data.ts';
import type { BuiltRequest } from './build-request.ts';
import { judgeAnswer } from './judge-answer.ts';
import type { Answer } from './read-answer.ts';
import { readId } from './read-id.ts';
import { retryAfter } from './retry-after.ts';

/** What was asked, in words of our own: method and path, without the query. */
export const askedFor = ({ method, url }: BuiltRequest): string => `${method} ${url.pathname.slice(0, 500)}`;

const errorOf = (type: ErrorType, message: string, retryAfterMs?: number): NonNullable<Outcome['error']> => {
  const { layer, retryable, hint } = ERROR_TABLE[type];
  return { type, layer, retryable, hint, message, ...(retryAfterMs === undefined ? {} : { retryAfterMs }) };
};

/** A refusal of the way out, or of the other side: certain that nothing was changed. */
export const refusedOutcome = (type: ErrorType, message: string, retryAfterMs?: number): Outcome => ({
  status: 'error',
  summary: message,
  sideEffect: 'none',
  trust: 'trusted',
  error: errorOf(type, message, retryAfterMs),
});

/** Only what can be a version and no sentence: it stands beside our own words. The whole header is in the data. */
const presentVersion = ({ headers }: Answer): string => {
  const etag = /^(?:W\/)?"[\w.:+/=~-]{1,64}"$/.exec(headers.etag ?? '')?.[0];
  return etag === undefined ? '' : `; it stands at ${etag} now`;
};

/** What proves a write to a person: the id that the other side gave, else the address with its status. */
const evidenceOf = (
  operation: HttpOperation,
  request: BuiltRequest,
  answer: Answer,
): NonNullable<Outcome['evidence']> => {
  const id = readId(operation, answer);
  const kind = id === undefined ? 'http-answer' : 'http-resource';
  return [
    {
      kind,
      ref: id ?? `${request.method} ${request.url.origin}${request.url.pathname}`.slice(0, 1_000),
      detail: `status ${answer.status}`,
    },
  ];
};

/**
 * How a call ends whose request was answered. Everything that the other side wrote is untrusted, with its address as
 * the origin; the summary is ours alone.
 */
export const outcomeOf = async (
  ctx: ToolContext,
  operation: HttpOperation,
  request: BuiltRequest,
  answer: Answer,
): Promise<Outcome> => {
  const { precondition } = operation;
  const verdict = judgeAnswer(
    operation,
    answer.status,
    precondition !== undefined && precondition.header in request.headers,
  );
  const host = request.url.host;
  if (verdict.end === 'unknown')
    return unknownOutcome(
      `${askedFor(request)} began, and ${host} ${verdict.why}: that does not say whether it was done.`,
    );
  const part = await answerPart(ctx, operation, answer);
  const told = { ...part, trust: 'untrusted' as const, origin: request.url.origin };
  if (verdict.end === 'refused') {
    const version = verdict.type === 'stale_version' ? presentVersion(answer) : '';
    const message = `${askedFor(request)}: ${host} ${verdict.why}${version}`;
    const wait = retryAfter(answer.headers['retry-after'], ctx.clock.now());
    return {
      ...told,
      status: 'error',
      summary: message,
      sideEffect: 'none',
      error: errorOf(verdict.type, message, wait),
    };
  }
  const summary = `${askedFor(request)}: ${host} answered ${answer.status}`;
  if (isSafeMethod(operation.method)) return { ...told, status: 'ok', summary, sideEffect: 'none' };
  return { ...told, status: 'ok', summary, sideEffect: 'confirmed', evidence: evidenceOf(operation, request, answer) };
};
