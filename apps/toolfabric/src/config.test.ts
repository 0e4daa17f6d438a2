import { describe, expect, it } from 'vitest';
import { readConfig } from './config.ts';

describe('the environment of `up`', () => {
  it('hands on what a person may set for single services, and nothing that is its own', () => {
    const given = {
      TOOLFABRIC_TENANCY: 'single',
      TOOLFABRIC_POLICY_DIR: '/etc/policies',
      TOOLFABRIC_QUOTAS: '/etc/quotas.json',
      TOOLFABRIC_COMMAND_MEMORY_BYTES: '1',
      TOOLFABRIC_TOOLCHAIN_DIRS: '/opt/node',
      TOOLFABRIC_GIT_REMOTES: '/srv/git:/srv/more',
      TOOLFABRIC_OTLP_ENDPOINT: 'http://127.0.0.1:4318',
      TOOLFABRIC_TRACE_RETENTION_DAYS: '7',
    };
    const own = {
      TOOLFABRIC_NKEY_SEED_FILE: '/a',
      TOOLFABRIC_STATE_DIR: '/b',
      TOOLFABRIC_TRACE_DIR: '/c',
      TOOLFABRIC_ARTIFACTS_DIR: '/d',
      TOOLFABRIC_REDACTION_KEY_FILE: '/e',
      TOOLFABRIC_TOKENS_FILE: '/f',
      AWS_SECRET_ACCESS_KEY: 'x',
    };
    expect(readConfig({ ...given, ...own }).passedOn).toEqual(given);
  });
});
