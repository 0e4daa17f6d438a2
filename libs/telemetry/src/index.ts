export { createMetrics, MOST_SERIES, type ServedMetrics } from './prometheus.ts';
export * from './settings.ts';
export * from './start-telemetry.ts';
