import { startNats, type TestNats } from '@toolfabric/testkit';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { pruneOperations } from './prune-operations.ts';
import type { RouterContext } from './router-context.ts';

let nats: TestNats;
beforeAll(async () => {
  nats = await startNats({ kinds: ['cli'] });
});
afterAll(() => nats.stop());

it('RE-1: removes operations whose window is over, and none that is held or still counts', async () => {
  const ports = await nats.connectAsRouter();
  const now = 2_000_000;
  const put = (name: string, state: 'held' | 'done' | 'free', expiresAt: number) =>
    ports.operations.create(`op.${name}`, { callId: 'c', tenant: 'acme', argsHash: 'a', state, expiresAt });
  await put('old', 'done', 1_000);
  await put('oldfree', 'free', 1_000);
  await put('oldheld', 'held', 1_000);
  await put('young', 'done', now + 1);
  await put('leeway', 'done', now - 1_000);
  expect(await pruneOperations({ ports, clock: { now: () => now } } as unknown as RouterContext)).toBe(2);
  expect((await ports.operations.keys('op')).sort()).toEqual(['op.leeway', 'op.oldheld', 'op.young']);
});
