/** Fails when the committed gRPC code is not what `buf generate` makes of the .proto files today. */
import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { environment, WORKSPACE } from './check-steps.ts';

const GENERATED = 'libs/proto/src/gen';

const filesBelow = (folder: string): string[] =>
  existsSync(folder)
    ? readdirSync(folder, { recursive: true, withFileTypes: true })
        .filter((entry) => entry.isFile())
        .map((entry) => join(entry.parentPath, entry.name).slice(folder.length + 1))
    : [];

/** Files that are missing, stale or left over, by name. */
const differences = (fresh: string, committed: string): string[] =>
  [...new Set([...filesBelow(fresh), ...filesBelow(committed)])].filter((file) => {
    const [a, b] = [join(fresh, file), join(committed, file)];
    return !existsSync(a) || !existsSync(b) || !readFileSync(a).equals(readFileSync(b));
  });

const folder = mkdtempSync(join(tmpdir(), 'toolfabric-proto-'));
try {
  const run = spawnSync('buf', ['generate', '-o', folder], { cwd: WORKSPACE, stdio: 'inherit', env: environment() });
  if (run.status !== 0) throw new Error('buf generate failed');
  const stale = differences(join(folder, GENERATED), join(WORKSPACE, GENERATED));
  for (const file of stale)
    console.error(`${GENERATED}/${file} is not current: run \`npm run generate\` and commit it`);
  process.exitCode = stale.length === 0 ? 0 : 1;
} finally {
  rmSync(folder, { recursive: true, force: true });
}
