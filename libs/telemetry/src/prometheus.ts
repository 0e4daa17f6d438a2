import { METRIC_TABLE, type MetricName, type MetricRole, type MetricRow } from '@toolfabric/contract';
import type { Metrics } from '@toolfabric/kernel';
import { Counter, Gauge, Histogram, Registry } from 'prom-client';
import { processMetrics } from './process-metrics.ts';

/** Series of one metric; what comes beyond them is counted under the label value `other`. */
export const MOST_SERIES = 2_000;

type Labels = Readonly<Record<string, string>>;

const rowsOf = (role: MetricRole): [MetricName, MetricRow][] =>
  Object.entries<MetricRow>(METRIC_TABLE)
    .filter(([, { by }]) => by === undefined || by.includes(role))
    .map(([name, row]) => [name as MetricName, row]);

interface Series {
  readonly labels: Labels;
  value: number;
}

/** The series of one metric, found by their labels; bounded, whatever the labels say. */
class SeriesBook {
  readonly #names: readonly string[];
  readonly #series = new Map<string, Series>();

  constructor(names: readonly string[]) {
    this.#names = names;
  }

  find(labels: Labels): Series {
    let key = '';
    for (const name of this.#names) key += `${labels[name]}\n`;
    const known = this.#series.get(key);
    if (known) return known;
    if (this.#series.size < MOST_SERIES) return this.#add(key, labels);
    return (
      this.#series.get('other') ?? this.#add('other', Object.fromEntries(this.#names.map((name) => [name, 'other'])))
    );
  }

  values(): IterableIterator<Series> {
    return this.#series.values();
  }

  #add(key: string, labels: Labels): Series {
    const made = { labels: { ...labels }, value: 0 };
    this.#series.set(key, made);
    return made;
  }
}

export interface ServedMetrics extends Metrics {
  /** Prometheus text. Scrapes at the same time share one rendering. */
  text(): Promise<string>;
  stop(): void;
}

/** The metrics of one service in a registry of its own: several services may share a process. */
export const createMetrics = (role: MetricRole): ServedMetrics => {
  const registry = new Registry();
  const registers = [registry];
  const counters = new Map<string, SeriesBook>();
  const histograms = new Map<string, (labels: Labels, value: number) => void>();
  const gauges = new Map<string, Map<string, { labels: Labels; read: () => number }>>();

  for (const [name, { type, help, labels: labelNames, buckets }] of rowsOf(role)) {
    const common = { name, help, labelNames: [...labelNames], registers };
    const book = new SeriesBook(labelNames);
    if (type === 'counter') {
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
      const histogram = new Histogram({ ...common, ...(buckets === undefined ? {} : { buckets: [...buckets] }) });
      histograms.set(name, (labels, value) => histogram.observe(book.find(labels).labels, value));
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
    observe: (name, value, labels) => histograms.get(name)?.(labels, value),
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
