import type { Migration } from './migration.ts';

/**
 * One row a call. The key holds nothing that a later event could change: the end of a call that was `unknown` must
 * replace its row. The owner stands first, since every question is bound by it.
 */
export const calls: Migration = {
  id: 1,
  name: 'calls',
  up: [
    `CREATE TABLE IF NOT EXISTS {db}.calls (
      tenant LowCardinality(String),
      user String,
      agent String,
      call_id String,
      week UInt32,
      version UInt64,
      task_id String,
      trace_id String,
      tool LowCardinality(String),
      tool_version LowCardinality(String),
      tool_digest String CODEC(ZSTD(1)),
      kind LowCardinality(String),
      handler LowCardinality(String),
      risk LowCardinality(String),
      state LowCardinality(String),
      side_effect LowCardinality(String),
      attempt UInt32,
      error_type LowCardinality(String),
      error_layer LowCardinality(String),
      rule LowCardinality(String),
      policy_version LowCardinality(String),
      accepted_at Int64,
      settled_at Int64,
      duration_ms Float64,
      turn Int32,
      model_call_id String,
      model LowCardinality(String),
      catalogue_digest String CODEC(ZSTD(1)),
      repairs String,
      args_hash String,
      result_bytes UInt64,
      truncated Bool,
      truncated_total UInt64,
      artifacts UInt32,
      exit_code Nullable(Int32),
      background Bool,
      taken_over Bool,
      attributes Map(LowCardinality(String), String),
      expires_at DateTime('UTC')
    )
    ENGINE = ReplacingMergeTree(version)
    PARTITION BY week
    ORDER BY (tenant, user, agent, call_id)
    TTL expires_at`,
  ],
  down: ['DROP TABLE IF EXISTS {db}.calls SYNC'],
};
