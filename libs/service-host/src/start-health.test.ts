import { afterEach, describe, expect, it } from 'vitest';
import type { RunningService } from './running-service.ts';
import { startHealth } from './start-health.ts';

let health: RunningService | undefined;
afterEach(() => health?.stop());

const status = async (path: string, method = 'GET') =>
  (await fetch(`http://${health?.address}${path}`, { method })).status;

describe('startHealth', () => {
  it('answers health and readiness apart, as they are at that moment', async () => {
    const state = { healthy: true, ready: false };
    health = await startHealth(0, () => state.healthy, { isReady: () => state.ready });
    expect([await status('/healthz'), await status('/readyz')]).toEqual([200, 503]);
    Object.assign(state, { healthy: false, ready: true });
    expect([await status('/healthz'), await status('/readyz')]).toEqual([503, 200]);
  });

  it('listens on loopback unless told otherwise', async () => {
    health = await startHealth(0, () => true);
    expect(health.address).toMatch(/^127\.0\.0\.1:\d+$/);
  });

  it('says nothing to any other question', async () => {
    health = await startHealth(0, () => true);
    const asked = [status('/'), status('/healthz/../x'), status('/__proto__'), status('/healthz', 'POST')];
    expect(await Promise.all(asked)).toEqual([404, 404, 404, 404]);
  });

  it('serves the numbers that are handed in, and says no more when they cannot be told', async () => {
    let text = async () => 'a_total 1\n';
    health = await startHealth(0, () => true, { metrics: () => text() });
    const answer = await fetch(`http://${health.address}/metrics`);
    expect(answer.headers.get('content-type')).toBe('text/plain; version=0.0.4; charset=utf-8');
    expect(await answer.text()).toBe('a_total 1\n');
    expect([await status('/metrics', 'POST'), await status('/metrics/')]).toEqual([404, 404]);
    text = () => Promise.reject(new Error('private'));
    const failed = await fetch(`http://${health.address}/metrics`);
    expect([failed.status, await failed.text()]).toEqual([500, 'not ok\n']);
  });

  it('has no page of numbers when none are handed in', async () => {
    health = await startHealth(0, () => true);
    expect(await status('/metrics')).toBe(404);
  });

  it('refuses a port that is taken', async () => {
    health = await startHealth(0, () => true);
    const port = Number(health.address?.split(':')[1]);
    await expect(startHealth(port, () => true)).rejects.toThrow('EADDRINUSE');
  });

  it('is gone after stop, also for a connection that is kept alive', async () => {
    health = await startHealth(0, () => true);
    await status('/healthz');
    await health.stop();
    await expect(status('/healthz')).rejects.toThrow();
  });
});
