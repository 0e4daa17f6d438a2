import type { CallRecord, CallRequest, CallView } from '@toolfabric/contract';
import { endSpan, type FabricError, SPAN, type Span, startSpan, traceparentOf } from '@toolfabric/kernel';
import type { RouterContext } from './router-context.ts';

const about = (call: CallRecord) => ({
  [SPAN.tenant]: call.actor.tenant,
  [SPAN.callId]: call.callId,
  [SPAN.taskId]: call.taskId,
  'gen_ai.tool.name': call.tool.name,
  [SPAN.toolVersion]: call.tool.version,
  [SPAN.kind]: call.kind,
});

/** A call that this router handles, from the request to the acceptance: its span is the parent of everything later. */
export class WatchedCall {
  readonly #ctx: RouterContext;
  readonly #span: Span;
  /** The request, with the trace context that its record is to carry. */
  readonly request: CallRequest;

  constructor(ctx: RouterContext, request: CallRequest) {
    this.#ctx = ctx;
    const { traceparent, ...rest } = request;
    const attributes = { [SPAN.tenant]: request.actor.tenant, [SPAN.taskId]: request.taskId };
    this.#span = startSpan(ctx.telemetry.tracer, 'handle_call', { traceparent, attributes });
    const own = traceparentOf(this.#span);
    this.request = own === undefined ? rest : { ...rest, traceparent: own };
  }

  /** The checks passed: from here on it has a name. */
  checked(call: CallRecord): void {
    this.#span.updateName(`handle_call ${call.tool.name}`);
    this.#span.setAttributes({
      ...about(call),
      ...(call.turn === undefined ? {} : { [SPAN.turn]: call.turn }),
      ...(call.modelCallId === undefined ? {} : { 'gen_ai.tool.call.id': call.modelCallId }),
      [SPAN.rule]: call.decision.rule,
      [SPAN.policyVersion]: call.decision.policyVersion,
      [SPAN.approval]: call.approvalId !== undefined,
    });
  }

  refused(callId: string, error: FabricError): void {
    const { layer } = error.toToolError();
    this.#ctx.telemetry.metrics.count('toolfabric_refusals_total', { type: error.type, layer });
    this.#span.setAttributes({ [SPAN.callId]: callId, [SPAN.errorType]: error.type });
  }

  answered(view: CallView): void {
    this.#span.setAttributes({ [SPAN.callId]: view.callId, [SPAN.state]: view.state });
    endSpan(this.#span);
  }

  failed(error: FabricError): void {
    endSpan(this.#span, error.type);
  }
}

/** A call of the fabric itself: it begins a trace of its own, which its record names. */
export const startInternal = async <T>(
  ctx: RouterContext,
  call: CallRecord,
  start: (call: CallRecord) => Promise<T>,
): Promise<T> => {
  const attributes = { ...about(call), [SPAN.rule]: call.decision.rule };
  const span = startSpan(ctx.telemetry.tracer, `handle_call ${call.tool.name}`, { attributes });
  const traceparent = traceparentOf(span);
  return start(traceparent === undefined ? call : { ...call, traceparent }).finally(() => endSpan(span));
};

export const countAccepted = (ctx: RouterContext, { tool, kind }: CallRecord): void =>
  ctx.telemetry.metrics.count('toolfabric_calls_accepted_total', { tool: tool.name, kind });

/**
 * The end of a call, by the one router that stored it: in the trace that its record names, however many processes and
 * restarts lie in between.
 */
export const watchEnd = (ctx: RouterContext, call: CallRecord, startTime: number): void => {
  const { tracer, metrics } = ctx.telemetry;
  const { tool, kind, state, result, traceparent } = call;
  metrics.count('toolfabric_calls_total', { tool: tool.name, kind, state });
  const seconds = Math.max(0, (call.settledAt ?? call.createdAt) - call.createdAt) / 1000;
  metrics.observe('toolfabric_call_duration_seconds', seconds, { tool: tool.name, kind });
  const attributes = {
    ...about(call),
    [SPAN.state]: state,
    [SPAN.attempt]: result?.attempt ?? 0,
    [SPAN.sideEffect]: result?.sideEffect ?? 'none',
    [SPAN.truncated]: (result?.truncation?.length ?? 0) > 0,
    [SPAN.unknown]: state === 'unknown',
  };
  const span = startSpan(tracer, `settle_call ${tool.name}`, { traceparent, attributes, startTime });
  endSpan(span, result?.error?.type);
  ctx.recordPayloads(call);
};
