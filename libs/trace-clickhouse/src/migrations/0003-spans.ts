import type { Migration } from './migration.ts';

export const spans: Migration = {
  id: 3,
  name: 'spans',
  up: [
    `CREATE TABLE IF NOT EXISTS {db}.spans (
      tenant LowCardinality(String),
      trace_id String,
      span_id String,
      parent_span_id String,
      name LowCardinality(String),
      kind LowCardinality(String),
      service LowCardinality(String),
      call_id String,
      start_us Int64,
      end_us Int64,
      status LowCardinality(String),
      attributes Map(LowCardinality(String), String),
      expires_at DateTime('UTC'),
      INDEX by_call call_id TYPE bloom_filter(0.01) GRANULARITY 1
    )
    ENGINE = ReplacingMergeTree
    PARTITION BY intDiv(start_us, 604800000000)
    ORDER BY (tenant, intDiv(start_us, 60000000), xxHash32(trace_id), span_id)
    TTL expires_at`,
  ],
  down: ['DROP TABLE IF EXISTS {db}.spans SYNC'],
};
