import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { waitFor } from './index.ts';
import { spawnService } from './spawn-service.ts';

let root: string;
beforeAll(async () => {
  root = await mkdtemp(join(tmpdir(), 'toolfabric-spawn-'));
});
afterAll(() => rm(root, { recursive: true, force: true }));

const app = async (name: string, source: string): Promise<string> => {
  const directory = join(root, name);
  await mkdir(join(directory, 'src'), { recursive: true });
  await writeFile(join(directory, 'package.json'), '{"type":"module"}');
  await writeFile(join(directory, 'src', 'main.ts'), source);
  return directory;
};

const READY = `console.error(JSON.stringify({ event: 'ready', address: '127.0.0.1:1', secret: process.env['SHELL_SECRET'] ?? 'none', own: process.env['OWN'] }));`;

describe('spawned service', () => {
  it('is ready with the fields of its line, gets only its own environment, and ends by a signal', async () => {
    process.env['SHELL_SECRET'] = 'leak';
    const service = spawnService(await app('ok', `const x: number = 1;\n${READY}\nsetInterval(() => x, 1000);`), {
      OWN: 'yes',
    });
    delete process.env['SHELL_SECRET'];
    expect(await service.ready).toMatchObject({ address: '127.0.0.1:1', secret: 'none', own: 'yes' });
    service.kill('SIGTERM');
    expect(await service.exited).toEqual({ code: null, signal: 'SIGTERM' });
    expect(service.log.some((line) => line.includes('ready'))).toBe(true);
  });

  it('that ends before it is ready says what it logged', async () => {
    const service = spawnService(await app('broken', `console.error('cannot go on'); process.exit(3);`), {});
    await expect(service.ready).rejects.toThrow('cannot go on');
    expect(await service.exited).toEqual({ code: 3, signal: null });
  });

  it('keeps reading lines that are no JSON', async () => {
    const service = spawnService(
      await app('noise', `console.error('{ broken'); console.log('null'); ${READY} setInterval(() => {}, 1000);`),
      {},
    );
    await service.ready;
    service.kill();
    expect(await service.exited).toEqual({ code: null, signal: 'SIGKILL' });
    await waitFor(() => service.log.includes('{ broken') && service.log.includes('null'));
  });
});
