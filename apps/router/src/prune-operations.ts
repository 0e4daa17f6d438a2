import { CLOCK_LEEWAY_MS } from '@toolfabric/contract';
import type { RouterContext } from './router-context.ts';

/**
 * Removes the records of operations whose window is over and that nobody holds (protocol 4). Removing is bound to the
 * revision that was read, so an operation that is taken again in between stays.
 */
export const pruneOperations = async (ctx: RouterContext): Promise<number> => {
  const { operations } = ctx.ports;
  let removed = 0;
  for (const key of await operations.keys('op')) {
    const stored = await operations.get(key);
    const isOver = stored !== undefined && ctx.clock.now() > stored.value.expiresAt + CLOCK_LEEWAY_MS;
    if (!isOver || stored.value.state === 'held') continue;
    if (await operations.remove(key, stored.revision)) removed += 1;
  }
  return removed;
};
