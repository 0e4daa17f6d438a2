import { EGRESS_RPC, type EgressReplyOf, type EgressRequestOf, type EgressVerb, ToolError } from '@toolfabric/contract';
import { FabricError } from '@toolfabric/kernel';
import { type GatewayPorts, RequestUnanswered } from '@toolfabric/ports';
import { z } from 'zod';
import { invalidRequest } from './invalid-request.ts';
import type { RequestContext } from './request-context.ts';

const ANSWER_MS = 5_000;
/** These ask another server meanwhile, in no more time than this. */
const ASKING_MS = 13_000;
const ASKING: readonly EgressVerb[] = ['test', 'beginLogin', 'completeLogin'];
/** Left for the answer of this gateway, or a quarter of what there is. */
const REPLY_MS = 500;

const waitMsOf = (verb: EgressVerb, leftMs: number): number => {
  const beforeDeadline = leftMs - Math.min(REPLY_MS, leftMs / 4);
  return Math.max(1, Math.min(ASKING.includes(verb) ? ASKING_MS : ANSWER_MS, beforeDeadline));
};

const Answer = z.union([z.strictObject({ ok: z.unknown() }), z.strictObject({ error: ToolError })]);

const away = (cause: unknown) =>
  new FabricError('egress_unavailable', 'the keeper of credentials does not answer; it may have done what was asked', {
    retryAfterMs: 1_000,
    hint: 'Look with `toolfabric credentials list`; `toolfabric doctor` says what is missing.',
    cause,
  });

const notUnderstood = () =>
  new FabricError('internal', 'the keeper of credentials answered in a way that the gateway does not understand');

const okOf = (text: string): unknown => {
  let answer: z.infer<typeof Answer>;
  try {
    answer = Answer.parse(JSON.parse(text));
  } catch {
    throw notUnderstood();
  }
  if ('error' in answer) throw FabricError.fromToolError(answer.error);
  return answer.ok;
};

/**
 * Asks the keeper of credentials once: a login cannot be completed twice, and a second secret would be another version.
 * Throws `invalid_request` with the fields that do not fit, the error that it answered, or `egress_unavailable`.
 */
export const askEgress = async <V extends EgressVerb>(
  { askEgress: ask }: Pick<GatewayPorts, 'askEgress'>,
  verb: V,
  request: EgressRequestOf<V>,
  { leftMs }: Pick<RequestContext, 'leftMs'>,
): Promise<EgressReplyOf<V>> => {
  const checked = EGRESS_RPC[verb].request.safeParse(request);
  if (!checked.success) throw invalidRequest(checked.error);
  const text = await ask(verb, JSON.stringify(checked.data), waitMsOf(verb, leftMs())).catch((thrown: unknown) => {
    throw thrown instanceof RequestUnanswered ? away(thrown) : thrown;
  });
  const reply = EGRESS_RPC[verb].reply.safeParse(okOf(text));
  if (!reply.success) throw notUnderstood();
  return reply.data as EgressReplyOf<V>;
};
