import type { TraceWriterBus } from '@toolfabric/bus-nats';
import { FabricEvent, type SpanRecord } from '@toolfabric/contract';
import { type TestNats, waitFor } from '@toolfabric/testkit';

/** Everything that the services told, in the place of the trace writer. */
export class EventTap {
  /** Each as it stood on the bus. */
  readonly texts: string[] = [];
  readonly events: FabricEvent[] = [];
  readonly #stop = new AbortController();
  #running: Promise<void> | undefined;

  static async on(nats: TestNats): Promise<EventTap> {
    const tap = new EventTap();
    tap.#listen(await nats.connectAsTraceWriter('test-tap'));
    return tap;
  }

  #listen(bus: TraceWriterBus): void {
    const options = { inFlight: 500, everyMs: 50, ahead: 100, hasRoom: () => true };
    this.#running = bus.feed.run(
      options,
      async (delivery) => {
        const text = Buffer.from(delivery.data).toString('utf8');
        this.texts.push(text);
        this.events.push(FabricEvent.parse(JSON.parse(text)));
        delivery.ack();
      },
      this.#stop.signal,
    );
  }

  ofCall(callId: string, type: FabricEvent['type']): FabricEvent | undefined {
    return this.events.find((event) => event.callId === callId && event.type === type);
  }

  spansOf(tenant: string): SpanRecord[] {
    return this.events.filter((event) => event.tenant === tenant).flatMap(({ spans = [] }) => spans);
  }

  /** Resolves with the spans of a call once there are as many. */
  spansOfCall(tenant: string, callId: string, count: number): Promise<SpanRecord[]> {
    return waitFor(
      async () => {
        const spans = this.spansOf(tenant).filter((span) => span.callId === callId);
        return spans.length >= count ? spans : undefined;
      },
      { timeoutMs: 15_000, what: `${count} spans of ${callId}` },
    );
  }

  async stop(): Promise<void> {
    this.#stop.abort();
    await this.#running;
  }
}

/** The tree of a trace as lines, each with what it belongs to; a span whose parent is not among them is a root. */
export const treeOf = (spans: readonly SpanRecord[]): string[] => {
  const ids = new Set(spans.map(({ spanId }) => spanId));
  const isRoot = ({ parentSpanId }: SpanRecord) => parentSpanId === undefined || !ids.has(parentSpanId);
  const below = (span: SpanRecord, depth: number): string[] => [
    `${'  '.repeat(depth)}${span.service}: ${span.name}`,
    ...spans
      .filter(({ parentSpanId }) => parentSpanId === span.spanId)
      .sort((a, b) => a.startUs - b.startUs || a.name.localeCompare(b.name))
      .flatMap((child) => below(child, depth + 1)),
  ];
  return spans.filter(isRoot).flatMap((span) => below(span, 0));
};
