import { runChecks } from './check-steps.ts';

process.exitCode = runChecks().length === 0 ? 0 : 1;
