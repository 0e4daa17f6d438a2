import type { LifeCycle, RegistryRecord } from '@toolfabric/contract';
import { FabricError } from '@toolfabric/kernel';

const NEXT: Readonly<Record<LifeCycle, readonly LifeCycle[]>> = {
  draft: ['published'],
  published: ['deprecated', 'retired'],
  deprecated: ['retired'],
  retired: [],
};

/**
 * The record in its next state: draft, published, deprecated, retired; a published one may be retired at once. Moving
 * to the state that it has changes nothing, so that a retry is harmless. Whether it may be published is asked of
 * `assertPublishable` before.
 *
 * `now` in milliseconds since the epoch. Throws `tool_retired` or `invalid_request`.
 */
export const moveLifeCycle = (record: RegistryRecord, to: LifeCycle, now: number): RegistryRecord => {
  const { state, contract } = record;
  if (state === to) return record;
  const id = `${contract.name}@${contract.version}`;
  if (state === 'retired') throw new FabricError('tool_retired', `${id} was retired and stays so`);
  if (!NEXT[state].includes(to)) {
    throw new FabricError('invalid_request', `${id} is ${state} and cannot become ${to}`, {
      hint: `From ${state} it can become ${NEXT[state].join(' or ')}.`,
    });
  }
  return { ...record, state: to, ...(to === 'published' ? { publishedAt: now } : {}) };
};
