import type { Outcome } from '@toolfabric/contract';
import { showHidden } from './summary/clean-text.ts';

const MAX_ORIGIN = 300;

/**
 * RS-6: says that the content comes from outside, and from where. What was untrusted stays so, and keeps its origins
 * beside the new one.
 */
export const markUntrusted = <O extends Outcome>(outcome: O, origin: string): O => {
  const shown = showHidden(origin.replaceAll('\n', ' '));
  const earlier = outcome.trust === 'untrusted' && outcome.origin !== undefined ? outcome.origin.split(', ') : [];
  const origins = [...new Set([...earlier, shown])].join(', ');
  return { ...outcome, trust: 'untrusted', origin: origins.slice(0, MAX_ORIGIN).toWellFormed() };
};
