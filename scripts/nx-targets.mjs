// Gives every package of the workspace the same targets, so that none of them repeats the commands.
// Plain JavaScript: Nx loads it before anything of the workspace runs.
import { dirname } from 'node:path';

const targetsOf = (root) => ({
  lint: { command: `biome check ${root}` },
  test: { command: `vitest run --passWithNoTests ${root}/` },
  typecheck: { command: `node scripts/typecheck.ts ${root}` },
});

export const createNodesV2 = [
  '{apps,libs}/*/package.json',
  (files) =>
    files.map((file) => {
      const root = dirname(file);
      return [file, { projects: { [root]: { root, targets: targetsOf(root) } } }];
    }),
];
