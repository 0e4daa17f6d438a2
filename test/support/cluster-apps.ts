import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
export const APPS = {
  router: join(ROOT, 'apps/router'),
  gateway: join(ROOT, 'apps/gateway'),
  cli: join(ROOT, 'apps/worker-cli'),
  artifacts: join(ROOT, 'apps/artifacts'),
  /** The way out of the workers that start after it. */
  egress: join(ROOT, 'apps/egress'),
  web: join(ROOT, 'apps/worker-web'),
  truth: join(ROOT, 'test/peers/truth'),
  /** An outside issue tracker, to which a web worker writes as its declared interface says. */
  tracker: join(ROOT, 'test/peers/tracker'),
  'trace-writer': join(ROOT, 'apps/trace-writer'),
} as const;
export type AppName = keyof typeof APPS;

/** The pool of a worker; its bus user is `worker-` and the pool. */
export const POOLS: Partial<Record<AppName, string>> = {
  cli: 'cli',
  web: 'web',
  truth: 'truth',
};
