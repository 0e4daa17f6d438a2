import { defineConfig } from 'vitest/config';

/** Each kills processes or loads the whole machine: one at a time, after everything else. */
const ALONE = ['test/faults/**/*.test.ts', 'test/load/**/*.test.ts'];
const ALL = ['apps/*/src/**/*.test.ts', 'libs/*/src/**/*.test.ts', 'test/**/*.test.ts', 'scripts/**/*.test.ts'];

export default defineConfig({
  test: {
    pool: 'forks',
    allowOnly: false,
    testTimeout: 60_000,
    hookTimeout: 60_000,
    projects: [
      {
        extends: true,
        test: { name: 'together', include: ALL, exclude: ALONE, maxWorkers: 2, sequence: { groupOrder: 0 } },
      },
      {
        extends: true,
        test: {
          name: 'alone',
          include: ALONE,
          fileParallelism: false,
          testTimeout: 180_000,
          hookTimeout: 60_000,
          sequence: { groupOrder: 1 },
        },
      },
    ],
  },
});
