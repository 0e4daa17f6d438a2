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

/** Keeps the number of series bounded, whatever the labels say. */
const bounded = (names: readonly string[]): ((labels: Labels) => Labels) => {
  const seen = new Set<string>();
  const other = Object.fromEntries(names.map((name) => [name, 'other']));
  return (labels) => {
    if (names.length === 0) return labels;
    let key = '';
    for (const name of names) key += `${labels[name]}\n`;
    if (seen.has(key)) return labels;
    if (seen.size >= MOST_SERIES) return other;
    seen.add(key);
    return labels;
  };
};

export interface ServedMetrics extends Metrics {
  /** Prometheus text. Scrapes at the same time share one rendering. */
  text(): Promise<string>;
  stop(): void;
}

/** The metrics of one service in a registry of its own: several services may share a process. */
export const createMetrics = (role: MetricRole): ServedMetrics => {
  const registry = new Registry();
  const registers = [registry];
  const counters = new Map<string, (labels: Labels, by: number) => void>();
  const histograms = new Map<string, (labels: Labels, value: number) => void>();
  const gauges = new Map<string, Map<string, { labels: Labels; read: () => number }>>();

  for (const [name, { type, help, labels: labelNames, buckets }] of rowsOf(role)) {
    const common = { name, help, labelNames: [...labelNames], registers };
    const bound = bounded(labelNames);
    if (type === 'counter') {
      const counter = new Counter(common);
      counters.set(name, (labels, by) => counter.inc(bound(labels), by));
    } else if (type === 'histogram') {
      const histogram = new Histogram({ ...common, ...(buckets === undefined ? {} : { buckets: [...buckets] }) });
      histograms.set(name, (labels, value) => histogram.observe(bound(labels), value));
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
    count: (name, labels, by = 1) => counters.get(name)?.(labels, by),
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
