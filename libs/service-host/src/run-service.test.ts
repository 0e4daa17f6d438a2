import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { afterEach, describe, expect, it } from 'vitest';

const MODULE = JSON.stringify(new URL('./run-service.ts', import.meta.url).href);
const children: ChildProcess[] = [];

afterEach(() => {
  for (const child of children.splice(0)) child.kill('SIGKILL');
});

/** A real service process; `body` gives the start function. Keeps every log line that it wrote. */
const serve = (body: string, options = '{}') => {
  const code = `import { runService } from ${MODULE};
    const never = new Promise(() => {});
    const alive = setInterval(() => {}, 1000);
    await runService('sample', async () => { ${body} }, ${options});`;
  const child = spawn(process.execPath, ['--input-type=module-typescript', '-e', code], {
    stdio: ['ignore', 'inherit', 'pipe'],
  });
  children.push(child);
  let text = '';
  child.stderr?.setEncoding('utf8').on('data', (chunk: string) => {
    text += chunk;
    child.emit('line');
  });
  const ended = once(child, 'close') as Promise<[number | null, NodeJS.Signals | null]>;
  const logged = async (event: string) => {
    while (!text.includes(`"event":"${event}"`))
      await Promise.race([once(child, 'line'), ended.then(() => fail(text))]);
  };
  return { child, ended, logged, log: () => text };
};

const fail = (text: string): never => {
  throw new Error(`the service ended: ${text}`);
};

const STOPS = `return { name: 'sample', address: '127.0.0.1:1', failed: never, stop: async () => {
  for (const part of ['intake', 'work']) console.error(JSON.stringify({ event: 'stopped-' + part })); } };`;

describe('runService', () => {
  it('OP-3: says ready once, and on SIGTERM stops in order with exit 0', async () => {
    const service = serve(STOPS);
    await service.logged('ready');
    service.child.kill('SIGTERM');
    expect(await service.ended).toEqual([0, null]);
    const events = service.log().match(/"event":"[^"]+"/g);
    expect(events).toEqual(
      ['ready', 'stopping', 'stopped-intake', 'stopped-work', 'stopped'].map((e) => `"event":"${e}"`),
    );
    expect(service.log()).toContain('"address":"127.0.0.1:1"');
  });

  it('stops on SIGINT as well, and when the signal comes before the start is over', async () => {
    const service = serve(`console.error('"event":"begun"'); await new Promise((r) => setTimeout(r, 200)); ${STOPS}`);
    await service.logged('begun');
    service.child.kill('SIGINT');
    expect(await service.ended).toEqual([0, null]);
    expect(service.log()).toContain('stopped-work');
  });

  it('ends with 1 at a second signal while it stops', async () => {
    const service = serve(
      `return { name: 's', failed: never, stop: () => { console.error('"event":"hangs"'); return never; } };`,
    );
    await service.logged('ready');
    service.child.kill('SIGTERM');
    await service.logged('hangs');
    service.child.kill('SIGTERM');
    expect(await service.ended).toEqual([1, null]);
    expect(service.log()).toContain('"event":"forced"');
  });

  it.each([
    ['stop hangs', `return { name: 's', failed: never, stop: () => never };`, 'ready'],
    ['start hangs', `console.error('"event":"begun"'); return never;`, 'begun'],
  ])('ends with 1 when the grace is over and %s', async (_what, body, event) => {
    const service = serve(body, '{ graceMs: 100 }');
    await service.logged(event);
    service.child.kill('SIGTERM');
    expect(await service.ended).toEqual([1, null]);
    expect(service.log()).toContain('"event":"grace_exceeded"');
  });

  it('stops and ends with 1 when the service ended by itself', async () => {
    const service = serve(STOPS.replace('failed: never', `failed: Promise.resolve('the bus is gone')`));
    expect(await service.ended).toEqual([1, null]);
    expect(service.log()).toContain('"reason":"the bus is gone"');
    expect(service.log()).toContain('stopped-work');
  });

  it('ends with 1 when it cannot start, and says why', async () => {
    const service = serve(`throw new Error('no seed file');`);
    expect(await service.ended).toEqual([1, null]);
    expect(service.log()).toContain('no seed file');
    expect(service.log()).not.toContain('"event":"ready"');
  });

  it('ends with 1 when stopping fails', async () => {
    const service = serve(`return { name: 's', failed: never, stop: async () => { throw new Error('secret'); } };`);
    await service.logged('ready');
    service.child.kill('SIGTERM');
    expect(await service.ended).toEqual([1, null]);
    expect(service.log()).not.toContain('secret');
  });

  it.each([
    ['thrown', 'setTimeout(() => { throw new TypeError(canary); }, 1);'],
    ['rejected', 'setTimeout(() => Promise.reject(new TypeError(canary)), 1);'],
    ['rejected with a text', 'setTimeout(() => Promise.reject(canary), 1);'],
  ])('ends with 1 on an uncaught error that was %s, and logs none of its text', async (_how, code) => {
    const service = serve(`const canary = 'token\\n    at canary'; ${code} ${STOPS}`);
    expect(await service.ended).toEqual([1, null]);
    expect(service.log()).toContain('"event":"uncaught"');
    expect(service.log()).not.toContain('canary');
  });

  it.each(['20.19.0', '22.18.0', '25.0.0'])('refuses Node %s and says which one it wants', async (version) => {
    const service = serve(STOPS, `{ nodeVersion: '${version}' }`);
    expect(await service.ended).toEqual([1, null]);
    expect(service.log()).toContain(`this is Node ${version}, and every service runs on Node 24`);
    expect(service.log()).not.toContain('"event":"ready"');
  });
});
