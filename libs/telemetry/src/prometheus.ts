import { METRIC_TABLE, type MetricName, type MetricRole, type MetricRow } from '@toolfabric/contract';
import type { Metrics } from '@toolfabric/kernel';
import { Counter, Gauge, Registry } from 'prom-client';
import { Buckets, ToldHistogram } from './histogram.ts';
import { processMetrics } from './process-metrics.ts';

/** Series of one metric; what comes beyond them is counted under the label value `other`. */
export const MOST_SERIES = 2_000;

type Labels = Readonly<Record<string, string>>;

const rowsOf = (role: MetricRole): [MetricName, MetricRow][] =>
  Object.entries<MetricRow>(METRIC_TABLE)
    .filter(([, { by }]) => by === undefined || by.includes(role))
    .map(([name, row]) => [name as MetricName, row]);

/** The series of one metric, found by their labels; bounded, whatever the labels say. */
class SeriesBook<S> {
  readonly #names: readonly string[];
  readonly #make: (labels: Labels) => S;
  readonly #series = new Map<string, S>();

  constructor(names: readonly string[], make: (labels: Labels) => S) {
    this.#names = names;
    this.#make = make;
  }

  find(labels: Labels): S {
    let key = '';
    for (const name of this.#names) key += `${labels[name]}\n`;
    const known = this.#series.get(key);
    if (known) return known;
    if (this.#series.size < MOST_SERIES) return this.#add(key, labels);
    return (
      this.#series.get('other') ?? this.#add('other', Object.fromEntries(this.#names.map((name) => [name, 'other'])))
    );
  }

  values(): IterableIterator<S> {
    return this.#series.values();
  }

  #add(key: string, labels: Labels): S {
    const made = this.#make({ ...labels });
    this.#series.set(key, made);
    return made;
  }
}

const newCount = (labels: Labels) => ({ labels, value: 0 });

/** Seconds, when the table says nothing else. */
const BOUNDS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];

export interface ServedMetrics extends Metrics {
  /** Prometheus text. Scrapes at the same time share one rendering. */
  text(): Promise<string>;
  stop(): void;
}

/** The metrics of one service in a registry of its own: several services may share a process. */
export const createMetrics = (role: MetricRole): ServedMetrics => {
  const registry = new Registry();
  const registers = [registry];
  const counters = new Map<string, SeriesBook<ReturnType<typeof newCount>>>();
  const histograms = new Map<string, SeriesBook<Buckets>>();
  const gauges = new Map<string, Map<string, { labels: Labels; read: () => number }>>();

  for (const [name, { type, help, labels: labelNames, buckets }] of rowsOf(role)) {
    const common = { name, help, labelNames: [...labelNames], registers };
    if (type === 'counter') {
      const book = new SeriesBook(labelNames, newCount);
      counters.set(name, book);
      new Counter({
        ...common,
        // Counted in the book, which costs less on the way of a call, and put in when somebody asks.
        collect() {
          this.reset();
          for (const { labels, value } of book.values()) this.inc(labels, value);
        },
      });
    } else if (type === 'histogram') {
      const book = new SeriesBook(labelNames, (labels) => new Buckets(labels, buckets ?? BOUNDS));
      histograms.set(name, book);
      new ToldHistogram(common, () => book.values());
    } else {
      const readers = new Map<string, { labels: Labels; read: () => number }>();
      gauges.set(name, readers);
      new Gauge({
        ...common,
        collect() {
          for (const { labels, read } of readers.values()) this.set(labels, read());
        },
      });
    }
  }

  const metrics: Metrics = {
    count(name, labels, by = 1) {
      const series = counters.get(name)?.find(labels);
      if (series) series.value += by;
    },
    observe: (name, value, labels) => histograms.get(name)?.find(labels).add(value),
    gauge(name, labels, read) {
      const readers = gauges.get(name);
      if (readers && readers.size < MOST_SERIES) readers.set(JSON.stringify(labels), { labels, read });
    },
  };
  const { look, stop } = processMetrics(metrics);
  let rendering: Promise<string> | undefined;
  return {
    ...metrics,
    stop,
    text() {
      look();
      rendering ??= registry.metrics().finally(() => {
        rendering = undefined;
      });
      return rendering;
    },
  };
};
