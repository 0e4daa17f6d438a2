import { writeSync } from 'node:fs';
import { armFaultPoints, parseFaults } from '@toolfabric/kernel';
import { createDriver } from '../driver.ts';
import { callTool } from './driver-fixture.ts';

/**
 * A worker process that edits: `steps` one after the other, or round and round with `forever`. Says `begun` on its
 * standard output when an effect begins, and each outcome's status when it ends.
 */
const { settings, workspace, steps, forever, faults, stopAtBegin } = JSON.parse(process.argv[2] ?? '');

const driver = await createDriver(settings, { lockWaitMs: 5_000 });
const say = (line: string) => writeSync(1, `${line}\n`);

const beginEffect = async () => {
  say('begun');
  if (stopAtBegin) process.kill(process.pid, 'SIGSTOP');
};

do {
  for (const args of steps) {
    const options = { faults: armFaultPoints(parseFaults(faults ?? ''), true), beginEffect };
    const outcome = await callTool(driver, 'workspace.edit_file', workspace, args, options).catch(
      (thrown: { type?: string }) => ({ status: thrown.type ?? 'thrown' }),
    );
    say(outcome.status);
  }
} while (forever);
