import type { Migration } from './migration.ts';

/** One row an event. Which payloads belong to a call stands here, with its owner; the payloads themselves are apart. */
export const events: Migration = {
  id: 2,
  name: 'events',
  up: [
    `CREATE TABLE IF NOT EXISTS {db}.events (
      tenant LowCardinality(String),
      at Int64,
      type LowCardinality(String),
      service LowCardinality(String),
      event_id String,
      call_id String,
      task_id String,
      user String,
      agent String,
      attributes Map(LowCardinality(String), String),
      payloads Nested(kind LowCardinality(String), sha256 String, bytes UInt64, cut Bool),
      expires_at DateTime('UTC'),
      INDEX by_task task_id TYPE bloom_filter(0.01) GRANULARITY 4
    )
    ENGINE = ReplacingMergeTree
    PARTITION BY intDiv(at, 604800000)
    ORDER BY (tenant, intDiv(at, 3600000), call_id, event_id)
    TTL expires_at`,
  ],
  down: ['DROP TABLE IF EXISTS {db}.events SYNC'],
};
