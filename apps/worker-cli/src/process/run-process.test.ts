import { randomUUID } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { processesWith } from '../testing/host-processes.ts';
import { waitUntil } from '../testing/wait-until.ts';
import { ProcessNotStarted, type ProcessRequest, runProcess } from './run-process.ts';

const request = (args: readonly string[], more: Partial<ProcessRequest> = {}): ProcessRequest => ({
  file: '/bin/sh',
  args,
  env: {},
  user: undefined,
  timeoutMs: 20_000,
  signal: new AbortController().signal,
  ...more,
});

const run = async (script: string, more: Partial<ProcessRequest> = {}) => {
  let output = '';
  const onOutput = (chunk: Buffer) => {
    output += chunk.toString();
    return 'more' as const;
  };
  const end = await runProcess(request(['-c', script], { onOutput, ...more }));
  return { ...end, output };
};

describe('run process', () => {
  it('gives output, code and errors', async () => {
    const end = await run('echo out; echo err >&2; exit 3');
    expect(end).toMatchObject({
      output: 'out\n',
      stderr: 'err\n',
      code: 3,
      ending: 'exited',
      outputMayContinue: false,
    });
  });

  it('CL-1: nothing is inherited: not the environment, not the input, not the directory', async () => {
    const { output } = await run('/usr/bin/env | /usr/bin/grep -v -e ^PWD= -e ^SHLVL= -e ^_=; /bin/cat; pwd', {
      env: { ONLY: 'this' },
    });
    expect(output).toBe('ONLY=this\n/\n');
  });

  it('a program that does not exist is an error of its own', async () => {
    await expect(runProcess(request([], { file: '/nonexistent/program' }))).rejects.toThrow(ProcessNotStarted);
  });

  it('settles though a grandchild holds the output, and says so', async () => {
    const marker = `9${Date.now() % 1e6}`;
    const end = await run(`/bin/sleep ${marker} & echo begun`);
    expect(end).toMatchObject({ output: 'begun\n', code: 0, outputMayContinue: true });
    for (const pid of processesWith(`sleep ${marker}`)) process.kill(Number(pid), 'SIGKILL');
  });

  it('takes the tail that comes after the exit', async () => {
    const end = await run('(/bin/sleep 0.1; echo late) & exit 0');
    expect(end).toMatchObject({ output: 'late\n', outputMayContinue: false });
  });

  it('ends at the timeout, also when the program ignores the polite signals', async () => {
    const end = await run("trap '' TERM INT HUP; while :; do :; done", { timeoutMs: 100 });
    expect(end).toMatchObject({ ending: 'timeout', code: null });
  });

  it('ends at the signal, and does not start after it', async () => {
    const abort = new AbortController();
    const marker = randomUUID();
    const running = run(`: ${marker}; while :; do :; done`, { signal: abort.signal });
    await waitUntil(() => processesWith(marker).length > 0);
    abort.abort();
    expect(await running).toMatchObject({ ending: 'aborted' });
    expect(await run('exit 0', { signal: abort.signal })).toMatchObject({ ending: 'aborted', code: null });
  });

  it('ends when the reader has enough', async () => {
    let bytes = 0;
    const onOutput = (chunk: Buffer) => {
      bytes += chunk.length;
      return bytes > 100_000 ? ('enough' as const) : ('more' as const);
    };
    expect(await runProcess(request(['-c', 'exec /usr/bin/yes'], { onOutput }))).toMatchObject({ ending: 'enough' });
    expect(bytes).toBeLessThan(2_000_000);
  });

  it('RS-3: holds no memory for output that nobody keeps', async () => {
    const before = process.memoryUsage().rss;
    let bytes = 0;
    const onOutput = (chunk: Buffer) => {
      bytes += chunk.length;
      return 'more' as const;
    };
    const script = '/usr/bin/head -c 300000000 /dev/zero; /usr/bin/head -c 50000000 /dev/zero >&2';
    const end = await runProcess(request(['-c', script], { onOutput }));
    expect(bytes).toBe(300_000_000);
    expect(end.stderr.length).toBeLessThanOrEqual(16 * 1024);
    expect(process.memoryUsage().rss - before).toBeLessThan(150_000_000);
  });
});
