import { monitorEventLoopDelay } from 'node:perf_hooks';
import type { Metrics } from '@toolfabric/kernel';

const NANO = 1e9;
/** Milliseconds between two samples of the event loop; what is late by less is not seen. */
const RESOLUTION_MS = 20;

export interface ProcessMetrics {
  /** Brings up to date what is counted; called before each scrape. */
  look(): void;
  stop(): void;
}

/** What the process uses. Several services of one process each tell it. */
export const processMetrics = (metrics: Metrics): ProcessMetrics => {
  let counted = 0;
  const look = () => {
    const { user, system } = process.cpuUsage();
    const seconds = (user + system) / 1e6;
    metrics.count('process_cpu_seconds_total', {}, Math.max(0, seconds - counted));
    counted = seconds;
  };
  const delay = monitorEventLoopDelay({ resolution: RESOLUTION_MS });
  delay.enable();
  const startedAt = Date.now() / 1000 - process.uptime();
  metrics.gauge('process_resident_memory_bytes', {}, () => process.memoryUsage.rss());
  metrics.gauge('process_start_time_seconds', {}, () => startedAt);
  metrics.gauge('nodejs_heap_used_bytes', {}, () => process.memoryUsage().heapUsed);
  // Each sample holds the resolution itself.
  const late = (ns: number) => (Number.isFinite(ns) ? Math.max(0, ns / NANO - RESOLUTION_MS / 1000) : 0);
  metrics.gauge('nodejs_eventloop_delay_seconds', { quantile: '0.5' }, () => late(delay.percentile(50)));
  metrics.gauge('nodejs_eventloop_delay_seconds', { quantile: '0.99' }, () => late(delay.percentile(99)));
  metrics.gauge('nodejs_eventloop_delay_seconds', { quantile: '1' }, () => {
    const most = late(delay.max);
    delay.reset();
    return most;
  });
  return { look, stop: () => void delay.disable() };
};
