import type { Outcome, WorkBody } from '@toolfabric/contract';
import { endSpan, SPAN, type Span, startSpan, type Telemetry, traceparentOf } from '@toolfabric/kernel';
import type { Delivery } from '@toolfabric/ports';
import type { WorkerContext } from './worker-context.ts';

/** The executions of one worker: each on a span, counted and timed. Nothing of what a tool gets or says is told. */
export class RunWatch {
  readonly #kind: string;
  readonly #telemetry: Telemetry;
  #inFlight = 0;

  constructor(kind: string, telemetry: Telemetry) {
    this.#kind = kind;
    this.#telemetry = telemetry;
    telemetry.metrics.gauge('toolfabric_executions_in_flight', { kind }, () => this.#inFlight);
  }

  /** `run` gets the body with the context of its span, for whoever is asked next. */
  async watch(
    { clock }: Pick<WorkerContext, 'clock'>,
    { storedAt }: Pick<Delivery, 'storedAt'>,
    body: WorkBody,
    run: (body: WorkBody) => Promise<Outcome>,
  ): Promise<Outcome> {
    const { metrics } = this.#telemetry;
    const kind = this.#kind;
    const waitedMs = storedAt === undefined ? undefined : Math.max(0, clock.now() - storedAt);
    if (waitedMs !== undefined) metrics.observe('toolfabric_queue_wait_seconds', waitedMs / 1000, { kind });
    const span = this.#begin(body, waitedMs);
    const traceparent = traceparentOf(span);
    this.#inFlight += 1;
    try {
      const outcome = await run(traceparent === undefined ? body : { ...body, traceparent });
      this.#end(span, body, outcome);
      return outcome;
    } catch (thrown) {
      endSpan(span, 'internal');
      throw thrown;
    } finally {
      this.#inFlight -= 1;
    }
  }

  #begin(body: WorkBody, waitedMs: number | undefined): Span {
    const { tool, tenant, traceparent, taskId, epoch, decision } = body;
    const isProbe = body.mode === 'probe';
    const callId = body.parentCallId ?? body.callId;
    return startSpan(this.#telemetry.tracer, `${isProbe ? 'probe_tool' : 'execute_tool'} ${tool.name}`, {
      traceparent,
      attributes: {
        [SPAN.tenant]: tenant,
        [SPAN.callId]: callId,
        [SPAN.taskId]: taskId,
        ...(isProbe ? {} : { 'gen_ai.operation.name': 'execute_tool', 'gen_ai.tool.type': 'function' }),
        'gen_ai.tool.name': tool.name,
        'gen_ai.tool.call.id': callId,
        [SPAN.toolVersion]: tool.version,
        [SPAN.kind]: this.#kind,
        [SPAN.attempt]: epoch,
        [SPAN.rule]: decision.rule,
        ...(waitedMs === undefined ? {} : { [SPAN.queueMs]: waitedMs }),
      },
    });
  }

  #end(span: Span, { tool, mode }: WorkBody, outcome: Outcome): void {
    const { status, sideEffect, truncation = [], error, usage } = outcome;
    const labels = { tool: tool.name, kind: this.#kind };
    if (mode === 'run') {
      this.#telemetry.metrics.count('toolfabric_executions_total', { ...labels, status });
      const seconds = (usage?.durationMs ?? 0) / 1000;
      this.#telemetry.metrics.observe('toolfabric_execution_duration_seconds', seconds, labels);
    }
    span.setAttributes({
      [SPAN.sideEffect]: sideEffect,
      [SPAN.truncated]: truncation.length > 0,
      [SPAN.unknown]: status === 'unknown',
    });
    endSpan(span, error?.type);
  }
}
