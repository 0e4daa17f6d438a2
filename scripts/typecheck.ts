/** `typecheck.ts [project root]`: checks the types of one project, or of everything. Exit code of the compiler. */
import { spawnSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const workspace = fileURLToPath(new URL('..', import.meta.url));
const project = process.argv[2];

/** A config of one project, made where no other tool looks for one. */
const configFor = (root: string): string => {
  const folder = join(workspace, '.nx', 'typecheck');
  mkdirSync(folder, { recursive: true });
  const path = join(folder, `${root.replaceAll('/', '-')}.json`);
  const config = { extends: join(workspace, 'tsconfig.base.json'), include: [join(workspace, root, 'src')] };
  writeFileSync(
    path,
    JSON.stringify({ ...config, compilerOptions: { typeRoots: [join(workspace, 'node_modules/@types')] } }),
  );
  return path;
};

const config = project === undefined ? workspace : configFor(project);
const run = spawnSync(join(workspace, 'node_modules/.bin/tsc'), ['-p', config], { stdio: 'inherit', cwd: workspace });
process.exitCode = run.status ?? 1;
