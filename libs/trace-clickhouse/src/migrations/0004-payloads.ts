import type { Migration } from './migration.ts';

/** Redacted texts by content; one that comes again lives on. Nothing lists this table: an owner's event names the hash. */
export const payloads: Migration = {
  id: 4,
  name: 'payloads',
  up: [
    `CREATE TABLE IF NOT EXISTS {db}.payloads (
      tenant LowCardinality(String),
      sha256 String,
      text String CODEC(ZSTD(3)),
      expires_at DateTime('UTC')
    )
    ENGINE = ReplacingMergeTree(expires_at)
    ORDER BY (tenant, sha256)
    TTL expires_at
    SETTINGS index_granularity = 256`,
  ],
  down: ['DROP TABLE IF EXISTS {db}.payloads SYNC'],
};
