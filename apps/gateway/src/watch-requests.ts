import type { Metadata } from '@grpc/grpc-js';
import {
  endSpan,
  parseTraceparent,
  SPAN,
  type Span,
  SpanKind,
  startSpan,
  type Telemetry,
  toFabricError,
} from '@toolfabric/kernel';
import type { Identity } from './authenticate.ts';

/** One request while it is answered: counted, timed, and from its authentication on a span. */
export interface WatchedRequest {
  /** Begins the span, once it is known whose it is: a trace that the caller began goes on, else one begins here. */
  known(identity: Identity, metadata: Metadata): Span;
  end(thrown?: unknown): void;
}

/** W3C trace context as it came; a broken one is left out. */
const incoming = (metadata: Metadata): string | undefined => {
  const [traceparent] = metadata.get('traceparent');
  return typeof traceparent === 'string' && parseTraceparent(traceparent) ? traceparent : undefined;
};

export class RequestWatch {
  readonly #telemetry: Telemetry;
  #inFlight = 0;

  constructor(telemetry: Telemetry) {
    this.#telemetry = telemetry;
    telemetry.metrics.gauge('toolfabric_requests_in_flight', {}, () => this.#inFlight);
  }

  /** `path` is that of a method of ours: `/toolfabric.v1.ToolService/Call`. */
  begin(path: string): WatchedRequest {
    const { tracer, metrics } = this.#telemetry;
    const name = path.slice(1);
    const verb = name.slice(name.indexOf('/') + 1);
    const began = performance.now();
    let span: Span | undefined;
    this.#inFlight += 1;
    return {
      known({ actor }, metadata) {
        const attributes = { [SPAN.tenant]: actor.tenant, 'rpc.system': 'grpc', 'rpc.method': name };
        span = startSpan(tracer, name, { kind: SpanKind.SERVER, traceparent: incoming(metadata), attributes });
        return span;
      },
      end: (thrown) => {
        this.#inFlight -= 1;
        const error = thrown === undefined ? undefined : toFabricError(thrown).type;
        metrics.count('toolfabric_requests_total', { verb, code: error ?? 'ok' });
        metrics.observe('toolfabric_request_duration_seconds', (performance.now() - began) / 1000, { verb });
        if (span !== undefined) endSpan(span, error);
      },
    };
  }
}
