import { FabricError } from '@toolfabric/kernel';
import type { RouterServices } from './router-services.ts';

/**
 * Above it nothing new is accepted: a record grows until its call has ended, and a full stream takes none that grows.
 * What was accepted must always have room to end.
 */
const FULL_SHARE = 0.85;

export const checkRoom = (services: RouterServices): void => {
  if (services.fill.share < FULL_SHARE) return;
  throw new FabricError('overloaded', 'the ledger is nearly full; nothing new is accepted', { retryAfterMs: 30_000 });
};
