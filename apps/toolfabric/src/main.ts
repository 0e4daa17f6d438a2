import { closeInherited, describeThrown, nodeRefusal } from '@toolfabric/service-host';
import { runCommand } from './cli/run-command.ts';
import { readConfig } from './config.ts';
import { VERBS } from './verbs/index.ts';

const refusal = nodeRefusal(process.versions.node);
if (refusal) {
  process.stderr.write(`toolfabric: ${refusal}\n`);
  process.exit(5);
}

closeInherited();

/** Says where it came from and none of its text, which may hold what a caller sent. */
const endOnUncaught = (thrown: unknown): never => {
  const { error, code, where } = describeThrown(thrown);
  process.stderr.write(`toolfabric: an error that nobody caught: ${error} ${code ?? ''} ${where ?? ''}\n`);
  process.exit(1);
};
process.on('uncaughtException', endOnUncaught);
process.on('unhandledRejection', endOnUncaught);

const stop = new AbortController();
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.once(signal, () => stop.abort());
// A reader such as `head` that went away is no fault.
process.stdout.on('error', () => process.exit(0));

process.exitCode = await runCommand(process.argv.slice(2), VERBS, readConfig(), stop.signal);
// Nothing should be left running; a handle that was forgotten must not keep a script waiting.
setTimeout(() => process.exit(), 3_000).unref();
