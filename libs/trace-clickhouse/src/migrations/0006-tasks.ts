import type { Migration } from './migration.ts';

/** One row a task: when it began, when and how it ended. Its two events merge in any order. */
export const tasks: Migration = {
  id: 6,
  name: 'tasks',
  up: [
    `CREATE TABLE IF NOT EXISTS {db}.tasks (
      tenant LowCardinality(String),
      task_id String,
      user SimpleAggregateFunction(max, String),
      agent SimpleAggregateFunction(max, String),
      created_at SimpleAggregateFunction(max, Int64),
      ended_at SimpleAggregateFunction(max, Int64),
      outcome SimpleAggregateFunction(max, String),
      expires_at SimpleAggregateFunction(max, DateTime('UTC'))
    )
    ENGINE = AggregatingMergeTree
    ORDER BY (tenant, task_id)
    TTL expires_at`,
  ],
  down: ['DROP TABLE IF EXISTS {db}.tasks SYNC'],
};
