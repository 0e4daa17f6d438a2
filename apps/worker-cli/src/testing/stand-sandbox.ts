import { writeSync } from 'node:fs';
import { createDriver } from '../driver.ts';
import { callTool } from './driver-fixture.ts';

/** A worker process with a sandbox that stands for the next command; says so. Its test ends it. */
const { settings, workspace } = JSON.parse(process.argv[2] ?? '');
const driver = await createDriver(settings, { lockWaitMs: 5_000 });
await callTool(driver, 'process.run', workspace, { argv: ['true'] });
const { standing } = driver.commands.confinement;
while (standing.count(workspace.id) < 2) await new Promise((resolve) => setTimeout(resolve, 10));
writeSync(1, 'stands\n');
setInterval(() => {}, 1_000);
