import { PACES } from '@toolfabric/kernel';
import { pinKey } from '@toolfabric/ledger';
import { StoreUnavailable, type WorkerPorts } from '@toolfabric/ports';
import { startNats, type TestNats, waitFor } from '@toolfabric/testkit';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { Rig } from './testing/rig.ts';
import { done, HeldTool } from './testing/sample-tools.ts';

let nats: TestNats;
let rig: Rig;
let ports: WorkerPorts;
beforeAll(async () => {
  nats = await startNats({ kinds: ['cli'] });
  const router = await nats.connectAsRouter();
  ports = await nats.connectAsWorker('cli');
  rig = new Rig({ router, ports, signing: nats.signing, pace: PACES.test });
});
afterEach(() => rig.stopAll());
afterAll(() => nats.stop());

describe('a renewal that is never answered', () => {
  it('protocol 10: stops the process all the same', async () => {
    const silence = Promise.withResolvers<undefined>();
    let silent = false;
    const { lives } = ports;
    const deaf: WorkerPorts = {
      ...ports,
      lives: {
        get: (key) => (silent ? silence.promise : lives.get(key)),
        create: (key, value) => lives.create(key, value),
        update: (key, value, revision) => lives.update(key, value, revision),
        remove: (key, revision) => lives.remove(key, revision),
        keys: (prefix) => lives.keys(prefix),
        lastRevision: () => lives.lastRevision(),
      },
    };
    const held = new HeldTool();
    const worker = await rig.start([held.tool], { ports: deaf });
    await rig.send();
    await waitFor(() => held.runs.length === 1);
    silent = true;
    let failed = '';
    void worker.failed.then((why) => {
      failed = why;
    });
    try {
      await waitFor(() => failed);
      expect(failed).toBe('could not renew the life sign');
    } finally {
      held.runs[0]?.finish(done());
      silence.resolve(undefined);
    }
  });
});

describe('a store that fails while a worker starts', () => {
  /** The second write of a life sign, which tells the slot, fails with `error`. */
  const failing = (error: Error): WorkerPorts => {
    let failures = 0;
    const { lives } = ports;
    const update: typeof lives.update = async (key, value, revision) => {
      if (value.pin !== undefined && value.state === 'alive' && failures++ < 1) throw error;
      return lives.update(key, value, revision);
    };
    return {
      ...ports,
      lives: {
        get: (key) => lives.get(key),
        create: (key, value) => lives.create(key, value),
        update,
        remove: (key, revision) => lives.remove(key, revision),
        keys: (prefix) => lives.keys(prefix),
        lastRevision: () => lives.lastRevision(),
      },
    };
  };
  const start = (error: Error) =>
    rig.start([new HeldTool().tool], {
      ports: failing(error),
      pinSlots: 4,
      storage: 'own',
      incarnation: `cli-${error.name.toLowerCase()}`,
    });

  it('RT-10: costs nothing when it is away for a moment: the next beat tells the slot', async () => {
    const { incarnation } = await start(new StoreUnavailable('away'));
    await waitFor(async () => (await rig.life(incarnation))?.pin !== undefined);
    expect(await rig.life(incarnation)).toMatchObject({ state: 'alive', storage: 'own' });
  });

  it('protocol 10: leaves neither a life sign nor a slot behind when the start fails by it', async () => {
    await expect(start(new TypeError('broken'))).rejects.toThrow('broken');
    expect(await rig.life('cli-typeerror')).toMatchObject({ state: 'drained' });
    const next = await rig.start([new HeldTool().tool], { pinSlots: 4, storage: 'own' });
    const pins = ['p0', 'p1', 'p2', 'p3'].map(
      async (slot) => (await ports.pins.get(pinKey('cli', slot)))?.value.holder,
    );
    expect(await Promise.all(pins)).not.toContain('cli-typeerror');
    expect((await rig.life(next.incarnation))?.pin).toBeDefined();
  });
});
