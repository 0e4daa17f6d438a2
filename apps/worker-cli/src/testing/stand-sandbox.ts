import { writeSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { createDriver } from '../driver.ts';
import { callTool } from './driver-fixture.ts';

/**
 * A worker process with a sandbox that stands for the next command; says so. Each line that it is given is the argv of a
 * command, as JSON, whose outcome it says in one line. Its test ends it.
 */
const { settings, workspace } = JSON.parse(process.argv[2] ?? '');
const driver = await createDriver(settings, { lockWaitMs: 5_000 });
const run = (argv: string[]) => callTool(driver, 'process.run', workspace, { argv });
await run(['true']);
const { standing } = driver.commands.confinement;
while (standing.count(workspace.id) < 2) await new Promise((resolve) => setTimeout(resolve, 10));
writeSync(1, 'stands\n');
createInterface({ input: process.stdin }).on('line', async (line) => {
  const told = await run(JSON.parse(line)).catch((thrown: { type?: string }) => ({ status: thrown.type ?? 'thrown' }));
  writeSync(1, `${JSON.stringify(told)}\n`);
});
setInterval(() => {}, 1_000);
