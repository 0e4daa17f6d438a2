import { setPriority } from 'node:os';
import { runService } from '@toolfabric/service-host';
import { readConfig } from './config.ts';
import { start } from './start.ts';

/** Milliseconds: the longest drain, and time for the engine to close its directory. */
const GRACE_MS = 40_000;

await runService(
  'trace-writer',
  (logger) => {
    const config = readConfig();
    // What is recorded yields to the calls that it is about. Not in `start`, which may share its process with others.
    setPriority(config.niceness);
    return start(config, logger);
  },
  { graceMs: GRACE_MS },
);
