import { canonicalJson, sha256Hex } from '@toolfabric/kernel';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ArtifactMemory } from '../testing/artifact-memory.ts';
import {
  type CallOptions,
  callTool,
  errorType,
  type Fixture,
  makeFixture,
  makeWorkspace,
} from '../testing/driver-fixture.ts';
import { putFile } from '../testing/put-file.ts';
import type { WorkspaceRecord } from '../workspace/workspace-record.ts';

const declare = (argv: string[], cwd?: string) => {
  const command = { argv, ...(cwd === undefined ? {} : { cwd }) };
  return { ...command, sha256: sha256Hex(canonicalJson(command)) };
};

const FAILING = `import { test } from 'node:test';
import assert from 'node:assert';
test('holds', () => {});
test('adds up', () => {
  assert.strictEqual(1 + 1, 3);
});
`;

describe('test.run', () => {
  let fixture: Fixture;
  let workspace: WorkspaceRecord;
  beforeAll(async () => {
    fixture = await makeFixture();
    workspace = await makeWorkspace(fixture);
    await putFile(workspace, 'pkg/test/sum.test.mjs', FAILING);
    await putFile(workspace, 'good/ok.test.mjs', "import { test } from 'node:test'; test('holds', () => {});");
  });
  afterAll(() => fixture.remove());

  const run = (
    testCommand: ReturnType<typeof declare> | undefined,
    more: CallOptions = {},
    args: Record<string, unknown> = {},
  ) => callTool(fixture.driver, 'test.run', workspace, args, { ...(testCommand && { testCommand }), ...more });

  it('CL-2: failing tests are an answer, with counts, name, file and line', async () => {
    const outcome = await run(declare(['node', '--test'], 'pkg'));
    expect(outcome).toMatchObject({
      status: 'ok',
      data: {
        verdict: 'failed',
        exit_code: 1,
        tests: {
          runner: 'node',
          passed: 1,
          failed: 1,
          failures: [{ name: 'adds up', file: 'pkg/test/sum.test.mjs', line: 5 }],
        },
      },
    });
    expect(outcome.evidence).toContainEqual({ kind: 'line', ref: 'pkg/test/sum.test.mjs:5', detail: 'adds up' });
    expect(outcome.error).toBeUndefined();
  });

  it('passing tests, no tests, and a program that prints no report', async () => {
    expect(await run(declare(['node', '--test', 'ok.test.mjs'], 'good'))).toMatchObject({
      data: { verdict: 'passed', tests: { passed: 1, failed: 0 } },
    });
    await putFile(workspace, 'none/readme.txt', '');
    expect(await run(declare(['node', '--test', '--test-reporter=tap'], 'none'))).toMatchObject({
      status: 'ok',
      data: { verdict: 'not_run' },
    });
    const silent = await run(declare(['false']));
    expect(silent).toMatchObject({ status: 'ok', data: { verdict: 'failed', exit_code: 1 } });
    expect(silent.data).not.toHaveProperty('tests');
  });

  it('L4: what runs is what was declared, and only that', async () => {
    expect(await errorType(run(undefined))).toBe('no_test_command');
    const other = { ...declare(['node', '--test']), argv: ['node', 'evil.mjs'] };
    expect(await errorType(run(other))).toBe('malformed_message');
    expect(await errorType(run(declare(['bash', '-c', 'true'])))).toBe('program_not_allowed');
  });

  it('RS-3: keeps report files as artifacts, and nothing that a link leads to', async () => {
    await putFile(
      workspace,
      'rep/write.mjs',
      `import fs from 'node:fs';
fs.mkdirSync('test-results', { recursive: true });
fs.writeFileSync('test-results/junit-a.xml', '<testsuite><testcase name="x" file="rep/a.js" line="3"><failure message="m"/></testcase></testsuite>');
fs.symlinkSync('/etc/passwd', 'test-results/link.xml');
process.exitCode = 1;`,
    );
    const artifacts = new ArtifactMemory();
    const outcome = await run(declare(['node', 'write.mjs'], 'rep'), { artifacts });
    expect(outcome).toMatchObject({
      data: { verdict: 'failed', tests: { runner: 'junit', failed: 1, failures: [{ name: 'x', line: 3 }] } },
    });
    expect(artifacts.kept.map(({ name }) => name.name)).toEqual(['report/rep/test-results/junit-a.xml']);
    expect(outcome.artifacts).toEqual(artifacts.kept.map(({ id }) => id));
    expect(JSON.stringify(outcome)).not.toContain('root:');
  });

  it('CL-4: tests that take too long are ended, and not told as failed', async () => {
    await putFile(workspace, 'slow/slow.mjs', 'setInterval(() => {}, 1000);');
    const outcome = await run(declare(['node', 'slow.mjs'], 'slow'), {}, { timeout_ms: 500 });
    expect(outcome).toMatchObject({
      status: 'error',
      error: { type: 'limit_reached' },
      data: { verdict: 'not_run', limit: 'wall_time', survivors: 0 },
    });
  });
});
