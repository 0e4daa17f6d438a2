import type { Migration } from './migration.ts';

/** First and last time of each call and each trace. Least and greatest do not change when an event comes twice. */
export const traceTimes: Migration = {
  id: 5,
  name: 'trace_times',
  up: [
    `CREATE TABLE IF NOT EXISTS {db}.trace_times (
      tenant LowCardinality(String),
      id String,
      first_ms SimpleAggregateFunction(min, Int64),
      last_ms SimpleAggregateFunction(max, Int64),
      expires_at SimpleAggregateFunction(max, DateTime('UTC'))
    )
    ENGINE = AggregatingMergeTree
    ORDER BY (tenant, id)
    TTL expires_at`,
  ],
  down: ['DROP TABLE IF EXISTS {db}.trace_times SYNC'],
};
