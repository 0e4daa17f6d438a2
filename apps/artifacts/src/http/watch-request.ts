import type { ArtifactPermit } from '@toolfabric/contract';
import { endSpan, SPAN, type Span, SpanKind, startSpan, type Telemetry } from '@toolfabric/kernel';

/** One request while it is answered: counted, timed, and from its permit on a span. Names of artifacts are not told. */
export interface WatchedRequest {
  permitted(permit: ArtifactPermit, verb: string): void;
  end(error?: string): void;
}

/** A log is written in many small pieces: a span for each would leave no room for the others in a trace. */
const WITHOUT_SPAN: ReadonlySet<string> = new Set(['append']);

export class RequestWatch {
  readonly #telemetry: Telemetry;
  #inFlight = 0;

  constructor(telemetry: Telemetry) {
    this.#telemetry = telemetry;
    telemetry.metrics.gauge('toolfabric_requests_in_flight', {}, () => this.#inFlight);
  }

  /** `traceparent` as it came; a broken one is left out. */
  begin(traceparent: string | undefined): WatchedRequest {
    const { tracer, metrics } = this.#telemetry;
    const began = performance.now();
    let verb = 'unknown';
    let span: Span | undefined;
    this.#inFlight += 1;
    return {
      permitted(permit, asked) {
        verb = asked;
        if (WITHOUT_SPAN.has(verb)) return;
        const attributes = {
          [SPAN.tenant]: permit.actor.tenant,
          ...('callId' in permit ? { [SPAN.callId]: permit.callId, [SPAN.attempt]: permit.epoch } : {}),
          'toolfabric.permit.action': permit.action,
        };
        span = startSpan(tracer, `artifacts ${verb}`, { kind: SpanKind.SERVER, traceparent, attributes });
      },
      end: (error) => {
        this.#inFlight -= 1;
        metrics.count('toolfabric_requests_total', { verb, code: error ?? 'ok' });
        metrics.observe('toolfabric_request_duration_seconds', (performance.now() - began) / 1000, { verb });
        if (span !== undefined) endSpan(span, error);
      },
    };
  }
}
