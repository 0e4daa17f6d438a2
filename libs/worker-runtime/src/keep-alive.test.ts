import { PACES } from '@toolfabric/kernel';
import type { WorkerPorts } from '@toolfabric/ports';
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
