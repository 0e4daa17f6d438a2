/** `bench.ts <name> [arguments]`: runs test/bench/<name>.ts. */
import { spawnSync } from 'node:child_process';
import { existsSync, readdirSync } from 'node:fs';
import { basename, join } from 'node:path';
import { environment, WORKSPACE } from './check-steps.ts';

const folder = join(WORKSPACE, 'test/bench');
const [name, ...args] = process.argv.slice(2);

/** A benchmark is a file of the folder; its helpers stand in folders of their own. */
const names = (): string[] =>
  existsSync(folder)
    ? readdirSync(folder)
        .filter((file) => file.endsWith('.ts') && !file.endsWith('.test.ts'))
        .map((file) => basename(file, '.ts'))
    : [];

if (name === undefined || !names().includes(name)) {
  console.error(`usage: npm run bench <name>, where <name> is one of: ${names().join(', ') || '(none yet)'}`);
  process.exitCode = 2;
} else {
  const run = spawnSync(process.execPath, [join(folder, `${name}.ts`), ...args], {
    cwd: WORKSPACE,
    stdio: 'inherit',
    env: environment(),
  });
  process.exitCode = run.status ?? 1;
}
