import { runInSandbox } from '../sandbox/run-in-sandbox.ts';

/** A worker that only holds a sandbox open; its test ends it. */
const { programs, root, user, marker, timeMs } = JSON.parse(process.argv[2] ?? '');

await runInSandbox(programs, {
  command: ['/usr/bin/bash', '-c', `setsid -f sleep ${marker}; sleep ${marker}`],
  binds: [{ source: root, target: '/workspace', writable: false }],
  cwd: '/workspace',
  limits: { memoryBytes: 1024 ** 3, fileBytes: 0 },
  user,
  timeMs: timeMs ?? 60_000,
  signal: new AbortController().signal,
});
