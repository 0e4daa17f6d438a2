import type { RouterServices } from './router-services.ts';

/** What changes by itself and is read at each scrape. */
export interface Seen {
  /** Calls that the last sweep found open. */
  open: number;
  /** Requests that are being answered. */
  serving: number;
  readonly shards: () => number;
}

export const showGauges = ({ ctx, fill, lives }: RouterServices, seen: Seen): void => {
  const { metrics } = ctx.telemetry;
  metrics.gauge('toolfabric_calls_open', {}, () => seen.open);
  metrics.gauge('toolfabric_requests_in_flight', {}, () => seen.serving);
  metrics.gauge('toolfabric_shards_held', {}, seen.shards);
  metrics.gauge('toolfabric_ledger_fill_ratio', {}, () => fill.share);
  for (const [kind, watch] of lives) metrics.gauge('toolfabric_workers_alive', { kind }, () => watch.alive);
};
