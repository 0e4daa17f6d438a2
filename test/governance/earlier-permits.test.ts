import { FabricError } from '@toolfabric/kernel';
import { floorKey } from '@toolfabric/ledger';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { ADA, RouterWorld } from './support/router-world.ts';

let world: RouterWorld;
const seen: (number | undefined)[] = [];
const floorOf = async (callId: string) => (await world.bus.doors.floors.get(floorKey(ADA.tenant, callId)))?.value.epoch;

beforeAll(async () => {
  const egress = { rules: [{ host: 'a.example.com' }], max_bytes: 5_000, max_connections: 1 };
  world = await RouterWorld.start({
    goesOut: true,
    tools: [
      {
        contract: {
          name: 'notes.ask',
          execution: { network: 'permit', handler: 'notes.ask', egress },
          governance: { claimless: false },
        },
        effect: 'none',
        async handle(_args, { callId }) {
          seen.push(await floorOf(callId));
          if (seen.length === 1) throw new FabricError('unavailable', 'not now');
          return {};
        },
      },
    ],
  });
});
afterAll(() => world.stop());

it('PO-11: the permits of an attempt are void before the next one is sent out, and those of the last one at the end', async () => {
  const { callId } = await world.front.call({ actor: ADA, taskId: await world.task(), tool: 'notes.ask' });
  expect((await world.ended(callId)).state).toBe('ok');
  expect(seen).toEqual([undefined, 1]);
  await expect.poll(() => floorOf(callId), { timeout: 15_000 }).toBe(2);
});
