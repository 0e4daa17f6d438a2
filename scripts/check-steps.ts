import { spawnSync } from 'node:child_process';
import { delimiter, join } from 'node:path';
import { fileURLToPath } from 'node:url';

export const WORKSPACE = fileURLToPath(new URL('..', import.meta.url));

interface Step {
  readonly name: string;
  readonly command: readonly [string, ...string[]];
}

/** Exactly what CI runs before the tests. */
const STEPS: readonly Step[] = [
  {
    name: 'format and lint',
    command: ['biome', 'ci', '--error-on-warnings', `--colors=${process.stdout.isTTY ? 'force' : 'off'}`, '.'],
  },
  { name: 'types', command: ['tsc', '-p', '.'] },
  { name: 'wire lint', command: ['buf', 'lint'] },
  {
    name: 'wire is compatible with the released one',
    command: ['buf', 'breaking', '--against', 'proto/baseline.binpb'],
  },
  { name: 'generated code is current', command: ['node', 'scripts/proto-current.ts'] },
  {
    name: 'boundaries and requirements',
    command: ['vitest', 'run', 'test/boundaries.test.ts', 'test/requirements.test.ts'],
  },
];

/** Everything that the scripts start runs on the Node of the workspace. */
export const environment = (): NodeJS.ProcessEnv => ({
  ...process.env,
  PATH: `${join(WORKSPACE, 'node_modules/.bin')}${delimiter}${process.env['PATH'] ?? ''}`,
  NX_DAEMON: 'false',
});

/** Runs every step, also after one failed; the names of those that did. */
export const runChecks = (): string[] => {
  const failed: string[] = [];
  for (const { name, command } of STEPS) {
    const [program, ...args] = command;
    console.log(`check: ${name}`);
    const run = spawnSync(program, args, { cwd: WORKSPACE, stdio: 'inherit', env: environment() });
    if (run.status !== 0) failed.push(name);
  }
  for (const name of failed) console.log(`check: FAILED: ${name}`);
  return failed;
};
