import type { CallView } from '@toolfabric/contract';
import {
  type Clock,
  FabricError,
  type Faults,
  type Metrics,
  proposalAttributes,
  proposedTool,
  randomId,
  SPAN,
} from '@toolfabric/kernel';
import type { EventLog } from '@toolfabric/ports';
import { wireCall as wire, type wireCall } from '@toolfabric/proto';
import type { PendingCalls } from './pending-calls.ts';
import { type ProposalHead, readBody, readHead } from './read-proposal.ts';
import { refusedView } from './refuse-call.ts';
import type { RequestContext } from './request-context.ts';
import type { RouterClient } from './router-client.ts';
import { beginWait, isAnswer } from './wait-for-answer.ts';

export interface InvokeDeps {
  readonly router: RouterClient;
  readonly pending: PendingCalls;
  readonly events: EventLog;
  readonly metrics: Metrics;
  readonly clock: Clock;
  readonly faults: Faults;
  /** Milliseconds in which a proposal is accepted even when nobody wants to wait. */
  readonly acceptMs: number;
}

/**
 * Proposes a call to the router and waits for its end for at most `waitMs`; then the answer is the handle. What a
 * model can repair comes back as a refused call; what its program must repair is thrown, and so is `unavailable`.
 */
export const invokeTool = async (
  deps: InvokeDeps,
  proposal: wireCall.CallProposal | undefined,
  waitMs: number,
  context: RequestContext,
): Promise<CallView> => {
  const given = proposal ?? wire.CallProposal.decode(new Uint8Array());
  const now = deps.clock.now();
  const { callId, head } = readHead(given, context.identity, now, context.traceparent);
  context.span.setAttributes({ [SPAN.callId]: callId, [SPAN.taskId]: head.taskId });
  const body = readBodyOrRefusal(() => readBody(head, given));
  if (body instanceof FabricError) return refuse(deps, { callId, head, tool: given.tool }, body, context);
  const view = await propose(deps, { callId, body, waitMs }, context);
  context.span.setAttribute(SPAN.state, view.state);
  return view;
};

const propose = async (
  deps: InvokeDeps,
  { callId, body, waitMs }: { readonly callId: string; readonly body: string; readonly waitMs: number },
  context: RequestContext,
): Promise<CallView> => {
  const { actor } = context.identity;

  const began = deps.clock.monotonic();
  const wait = waitMs > 0 ? beginWait(deps.pending, actor, callId) : undefined;
  const stopOnGone = context.onGone(() => wait?.stop());
  try {
    const limitMs = Math.min(Math.max(waitMs, deps.acceptMs), context.leftMs());
    const accepted = await deps.router.view('call', body, { limitMs, isGone: context.isGone });
    if (accepted.state !== 'refused') deps.faults.at('gateway.after-accept');
    if (wait === undefined || isAnswer(accepted)) return accepted;
    const leftMs = waitMs - (deps.clock.monotonic() - began);
    return await wait.forAnswer(accepted, Math.max(0, Math.min(leftMs, beforeDeadline(context.leftMs()))));
  } finally {
    stopOnGone();
    wait?.stop();
  }
};

const REPLY_MS = 200;

/** Keeps a part of the caller's deadline for the answer itself, so that it gets the handle and not a broken request. */
const beforeDeadline = (leftMs: number): number => leftMs - Math.min(REPLY_MS, leftMs / 4);

const readBodyOrRefusal = (read: () => string): string | FabricError => {
  try {
    return read();
  } catch (thrown) {
    if (thrown instanceof FabricError) return thrown;
    throw thrown;
  }
};

const refuse = (
  { events, metrics, clock }: InvokeDeps,
  { callId, head, tool }: { readonly callId: string; readonly head: ProposalHead; readonly tool: string },
  error: FabricError,
  { identity, span }: RequestContext,
): CallView => {
  const now = clock.now();
  const { layer } = error.toToolError();
  const { taskId } = head;
  metrics.count('toolfabric_refusals_total', { type: error.type, layer });
  span.setAttributes({ [SPAN.state]: 'refused', [SPAN.errorType]: error.type });
  events.emit({
    id: randomId(),
    type: 'call.refused',
    service: 'gateway',
    tenant: identity.actor.tenant,
    at: now,
    callId,
    taskId,
    actor: identity.actor,
    attributes: { error: error.type, errorLayer: layer, tool: proposedTool(tool), ...proposalAttributes(head) },
  });
  return refusedView({ callId, taskId, tool }, error, now);
};
