import { closeInherited, runService } from '@toolfabric/service-host';
import { readConfig } from './config.ts';
import { start } from './start.ts';

/** Milliseconds: the longest drain of the worker, and time to close. */
const GRACE_MS = 45_000;

closeInherited();
await runService('worker-web', (logger) => start(readConfig(), logger), { graceMs: GRACE_MS });
