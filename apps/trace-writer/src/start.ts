import { connectTraceWriter } from '@toolfabric/bus-nats';
import { FabricError, type Logger, systemClock } from '@toolfabric/kernel';
import type { EventLag } from '@toolfabric/ports';
import { type RunningService, startHealth, tellRefusals } from '@toolfabric/service-host';
import { createMetrics, type ServedMetrics } from '@toolfabric/telemetry';
import { openTraceStore, type TraceStoreStatus } from '@toolfabric/trace-clickhouse';
import { answerQuestion } from './answer-question.ts';
import { BATCH_LIMITS, BatchWriter, type WriterCounts } from './batch-writer.ts';
import type { TraceWriterConfig } from './config.ts';
import { EventTaker, type TakenCounts } from './take-events.ts';

export { type EngineProbe, probeEngine, probeServer, type ServerAddress } from '@toolfabric/trace-clickhouse';

/** States and numbers for a person; what `GET /status` of the health port tells. */
export interface TraceWriterStatus {
  readonly connected: boolean;
  readonly store: TraceStoreStatus;
  readonly writer: WriterCounts;
  readonly taken: TakenCounts;
  /** As last asked; empty before. */
  readonly lag: readonly EventLag[];
}

export interface TraceWriterService extends RunningService {
  status(): TraceWriterStatus;
}

const AHEAD = 128;
const MOST_QUESTIONS = 32;
const LAG_EVERY_MS = 5_000;
const BUSY = JSON.stringify({
  error: new FabricError('overloaded', 'the trace store has too many questions at once', {
    retryAfterMs: 500,
  }).toToolError(),
});

const measure = (metrics: ServedMetrics, status: () => TraceWriterStatus): void => {
  metrics.gauge('toolfabric_bus_connected', {}, () => (status().connected ? 1 : 0));
  metrics.gauge('toolfabric_trace_store_ready', {}, () => (status().store.state === 'ready' ? 1 : 0));
  metrics.gauge('toolfabric_trace_held_bytes', {}, () => status().writer.heldBytes);
  metrics.gauge('toolfabric_trace_delay_seconds', {}, () => status().taken.delayMs / 1000);
  metrics.gauge('toolfabric_trace_engine_resident_bytes', {}, () => status().store.engine?.rss ?? 0);
};

/**
 * Start order: connection, store (in the background), questions, and events as soon as the store takes rows. Stop order:
 * no new questions, no new events, what is held is stored and acknowledged, the engine closes its directory, the
 * connection closes.
 */
export const start = async (config: TraceWriterConfig, log: Logger): Promise<TraceWriterService> => {
  const bus = await connectTraceWriter({ ...config.bus, name: 'trace-writer' }, config.kinds);
  const clock = systemClock;
  const store = await openTraceStore(config.store, log).catch(async (thrown: unknown) => {
    await bus.close();
    throw thrown;
  });
  const stop = new AbortController();
  const metrics = createMetrics('trace-writer');
  bus.onRefused(tellRefusals(metrics, log));
  const writer = new BatchWriter({ store, clock, log, metrics }, { ...BATCH_LIMITS, heldBytes: config.room.bytes });
  const taker = new EventTaker({ writer, retention: config.retention, clock, log, metrics });
  const options = {
    inFlight: config.room.events,
    ahead: AHEAD,
    everyMs: config.everyMs,
    hasRoom: () => writer.hasRoom(),
  };

  const feeding = store.whenReady(stop.signal).then(
    () => bus.feed.run(options, (delivery) => taker.take(delivery), stop.signal),
    () => {
      if (!stop.signal.aborted) log.error('store.absent', { reason: store.status.reason });
    },
  );

  let lag: readonly EventLag[] = [];
  const lookAtLag = async () => {
    while (!stop.signal.aborted) {
      lag = await bus.feed.lag().catch(() => lag);
      for (const { stream } of lag) {
        const waiting = () => {
          const found = lag.find((entry) => entry.stream === stream);
          return found === undefined ? 0 : found.waiting + found.unacknowledged;
        };
        metrics.gauge('toolfabric_trace_waiting_events', { stream }, waiting);
      }
      await clock.sleep(LAG_EVERY_MS, stop.signal);
    }
  };
  const looking = lookAtLag();

  let questions = 0;
  const stopServing = bus.serve(async (verb, body) => {
    if (questions >= MOST_QUESTIONS) return BUSY;
    questions += 1;
    try {
      return await answerQuestion(store, verb, body);
    } finally {
      questions -= 1;
    }
  });

  const status = (): TraceWriterStatus => ({
    connected: bus.isConnected(),
    store: store.status,
    writer: writer.counts,
    taken: taker.counts,
    lag,
  });
  measure(metrics, status);
  // Neither a lost bus nor a lost store is mended by a restart.
  const health =
    config.healthPort === undefined
      ? undefined
      : await startHealth(config.healthPort, () => true, {
          isReady: () => bus.isConnected() && store.status.state === 'ready',
          status,
          metrics: () => metrics.text(),
          ...(config.healthHost === undefined ? {} : { host: config.healthHost }),
        });

  let stopping: Promise<void> | undefined;
  const shutDown = async () => {
    stopServing();
    stop.abort();
    await Promise.all([writer.drain(config.pace.drainMs), feeding, looking]);
    await store.close();
    await bus.close();
    await health?.stop();
    metrics.stop();
  };
  return {
    name: 'trace-writer',
    ...(health?.address === undefined ? {} : { address: health.address }),
    status,
    stop: () => (stopping ??= shutDown()),
    failed: bus.closed.then((reason) =>
      stopping === undefined ? `the bus is gone: ${reason}` : new Promise(() => {}),
    ),
  };
};
