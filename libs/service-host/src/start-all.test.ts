import { describe, expect, it } from 'vitest';
import type { RunningService } from './running-service.ts';
import { firstFailure, startAll, stopAll } from './start-all.ts';

const service = (name: string, log: string[], over: Partial<RunningService> = {}) => ({
  start: async (): Promise<RunningService> => {
    log.push(`+${name}`);
    return {
      name,
      failed: new Promise<string>(() => {}),
      stop: async () => {
        log.push(`-${name}`);
      },
      ...over,
    };
  },
});

describe('startAll and stopAll', () => {
  it('OP-3: start in order and stop in reverse', async () => {
    const log: string[] = [];
    const running = await startAll(['bus', 'router', 'gateway'].map((name) => service(name, log).start));
    await stopAll(running);
    expect(log).toEqual(['+bus', '+router', '+gateway', '-gateway', '-router', '-bus']);
  });

  it('stops what runs when a later one does not start', async () => {
    const log: string[] = [];
    const broken = () => Promise.reject(new Error('port taken'));
    const start = startAll([service('bus', log).start, broken, service('gateway', log).start]);
    await expect(start).rejects.toThrow('port taken');
    expect(log).toEqual(['+bus', '-bus']);
  });

  it('asks every service to stop, even after one refused', async () => {
    const log: string[] = [];
    const stop = () => Promise.reject(new Error('stuck'));
    const running = await startAll([service('bus', log).start, service('router', log, { stop }).start]);
    await expect(stopAll(running)).rejects.toThrow('some services did not stop');
    expect(log).toEqual(['+bus', '+router', '-bus']);
  });

  it('names the first service that ended by itself', async () => {
    const failed = Promise.resolve('life declared dead');
    const running = await startAll([service('bus', []).start, service('worker', [], { failed }).start]);
    expect(await firstFailure(running)).toBe('worker: life declared dead');
  });
});
