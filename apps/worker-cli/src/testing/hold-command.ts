import { runConfined } from '../confine/run-confined.ts';
import { createDriver } from '../driver.ts';

/** A worker that only holds a confined command open; its test ends it. */
const { settings, workspace, mark } = JSON.parse(process.argv[2] ?? '');
const driver = await createDriver(settings, { lockWaitMs: 1_000 });
const { confinement } = driver.commands;
await runConfined(confinement, {
  command: ['/usr/bin/bash', '-c', `setsid -f sleep ${mark}; sleep ${mark}`],
  binds: [
    { source: confinement.etc, target: '/etc', writable: false },
    { source: workspace.root, target: '/workspace', writable: true },
  ],
  cwd: '/workspace',
  user: workspace.child,
  timeMs: 60_000,
  signal: new AbortController().signal,
  onOutput: () => 'more',
});
