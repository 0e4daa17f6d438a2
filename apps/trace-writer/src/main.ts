import { runService } from '@toolfabric/service-host';
import { readConfig } from './config.ts';
import { start } from './start.ts';

/** Milliseconds: the longest drain, and time for the engine to close its directory. */
const GRACE_MS = 40_000;

await runService('trace-writer', (logger) => start(readConfig(), logger), { graceMs: GRACE_MS });
