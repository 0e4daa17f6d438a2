import { describe, expect, it } from 'vitest';
import { assertPublishable } from './check-publication.ts';
import { draftOf } from './contract-digests.ts';
import { moveLifeCycle } from './life-cycle.ts';
import { loadBuiltinContracts } from './load-contracts.ts';

describe('the contracts that come with the fabric', () => {
  const contracts = loadBuiltinContracts();

  it.each(contracts.map((contract) => [`${contract.name}@${contract.version}`, contract] as const))(
    'RG-1: %s can be published beside the others, without a warning',
    (_, contract) => {
      const others = contracts.filter((other) => other !== contract);
      const records = others.map((other) => moveLifeCycle(draftOf(other), 'published', 0));
      expect(assertPublishable(contract, records)).toEqual([]);
    },
  );
});
