import { createSigner, createVerifier } from '@toolfabric/kernel';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { waitFor } from './index.ts';
import { startNats, type TestNats } from './start-nats.ts';

let nats: TestNats;
beforeAll(async () => {
  nats = await startNats({ kinds: ['cli'] });
});
afterAll(() => nats.stop());

describe('test server', () => {
  it('is provisioned, and keeps its port and content over SIGKILL and restart', async () => {
    const router = await nats.connectAsRouter();
    const { url } = nats;
    await router.leases.create('shard.1', { holder: 'r1', beat: 1 });
    await nats.kill();
    await nats.restart();
    expect(nats.url).toBe(url);
    const lease = await waitFor(() => router.leases.get('shard.1'));
    expect(lease.value.holder).toBe('r1');
  });

  it('can be stopped in the middle and goes on', async () => {
    const router = await nats.connectAsRouter();
    await nats.pause();
    const reading = router.leases.get('shard.9');
    nats.resume();
    expect(await reading).toBeUndefined();
  });

  it('brings a signing key that its key file knows', () => {
    const { kid, privateKey, publicKeys } = nats.signing;
    const envelope = createSigner(kid, privateKey).sign('t', '{}');
    expect(createVerifier(publicKeys).open(envelope, 't', 'router')).toBe('{}');
    expect(createVerifier(publicKeys).open(envelope, 't', 'worker')).toBeUndefined();
  });

  it('gives a bare connection for what must be refused', async () => {
    const worker = await nats.connectRaw('worker-cli');
    expect(await worker.publish('work.cli.hi.acme', 'x')).toBe('forbidden');
    await expect(nats.connectRaw('nobody')).rejects.toThrow('nobody');
  });

  it('waiting ends with what it waited for, or with the last reason', async () => {
    let looks = 0;
    expect(await waitFor(() => (++looks > 2 ? 'there' : undefined))).toBe('there');
    const failing = waitFor(() => Promise.reject(new Error('still broken')), { timeoutMs: 30, what: 'the end' });
    await expect(failing).rejects.toThrow('the end did not come true');
    await expect(failing).rejects.toMatchObject({ cause: { message: 'still broken' } });
  });
});
