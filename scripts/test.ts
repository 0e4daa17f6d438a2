/** `test.ts [path …]`: the checks, then the tests; the closing line counts both. */
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ALLOWED_SKIPS } from '../test/allowed-skips.ts';
import { environment, runChecks, WORKSPACE } from './check-steps.ts';
import { Report, type Tally, tally } from './tally.ts';

/** Longer than any honest run; a run that hangs is ended and counts as failed. */
const TEST_LIMIT_MS = 52 * 60_000;

const runTests = (paths: readonly string[]): Tally => {
  const folder = mkdtempSync(join(tmpdir(), 'toolfabric-test-'));
  const output = join(folder, 'report.json');
  const args = ['run', '--reporter=default', '--reporter=json', `--outputFile.json=${output}`, ...paths];
  try {
    spawnSync('vitest', args, { cwd: WORKSPACE, stdio: 'inherit', env: environment(), timeout: TEST_LIMIT_MS });
    return tally(Report.parse(JSON.parse(readFileSync(output, 'utf8'))), new Set(Object.keys(ALLOWED_SKIPS)));
  } catch (thrown) {
    return { passed: 0, failures: [`the tests gave no report: ${String(thrown)}`] };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
};

const checks = runChecks().map((name) => `check: ${name}`);
const tests = runTests(process.argv.slice(2));
const failures = [...checks, ...tests.failures];
for (const failure of failures) console.log(`FAILED ${failure}`);
console.log(`${tests.passed} passed, ${failures.length} failed`);
process.exitCode = failures.length === 0 && tests.passed > 0 ? 0 : 1;
