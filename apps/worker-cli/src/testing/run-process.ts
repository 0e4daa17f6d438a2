import { writeSync } from 'node:fs';
import { createDriver } from '../driver.ts';
import { callTool } from './driver-fixture.ts';

/** A worker process that runs one program; says what it stored when the effect began. Its test ends it. */
const { settings, workspace, argv } = JSON.parse(process.argv[2] ?? '');
const driver = await createDriver(settings, { lockWaitMs: 5_000 });
const beginEffect = async (intent: unknown) => void writeSync(1, `${JSON.stringify(intent)}\n`);
await callTool(driver, 'process.run', workspace, { argv }, { beginEffect });
