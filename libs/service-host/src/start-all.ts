import type { RunningService } from './running-service.ts';

export type Starter = () => Promise<RunningService>;

/** Starts in the given order. When one does not start, the earlier ones are stopped and its error is thrown. */
export const startAll = async (starters: readonly Starter[]): Promise<readonly RunningService[]> => {
  const running: RunningService[] = [];
  for (const start of starters) {
    try {
      running.push(await start());
    } catch (thrown) {
      await stopAll(running).catch(() => {});
      throw thrown;
    }
  }
  return running;
};

/** Stops in reverse order. Each is asked, whatever the others did; throws at the end when some did not stop. */
export const stopAll = async (services: readonly RunningService[]): Promise<void> => {
  const failures: unknown[] = [];
  for (const service of services.toReversed()) {
    await service.stop().catch((thrown: unknown) => failures.push(thrown));
  }
  if (failures.length > 0) throw new AggregateError(failures, 'some services did not stop');
};

/** Resolves with the name and reason of the first service that ends by itself. */
export const firstFailure = (services: readonly RunningService[]): Promise<string> =>
  Promise.race(services.map(async (service) => `${service.name}: ${await service.failed}`));
