import { LifeCycle } from '@toolfabric/contract';
import { FabricError } from '@toolfabric/kernel';
import { describe, expect, it } from 'vitest';
import { moveLifeCycle } from './life-cycle.ts';
import { recordOf, sampleContract } from './sample-contract.ts';

const ALLOWED = ['draft>published', 'published>deprecated', 'published>retired', 'deprecated>retired'];
const PAIRS = LifeCycle.options.flatMap((from) => LifeCycle.options.map((to) => [from, to] as const));

describe('moveLifeCycle', () => {
  it.each(PAIRS)('RG-3: from %s to %s', (from, to) => {
    const record = recordOf(sampleContract(), from);
    const move = () => moveLifeCycle(record, to, 42);
    if (from === to) return expect(move()).toBe(record);
    if (ALLOWED.includes(`${from}>${to}`)) {
      return expect(move()).toEqual({ ...record, state: to, ...(to === 'published' ? { publishedAt: 42 } : {}) });
    }
    expect(move).toThrow(FabricError);
    expect(move).toThrow(expect.objectContaining({ type: from === 'retired' ? 'tool_retired' : 'invalid_request' }));
  });

  it('changes neither the contract nor its digests nor the record that it was given', () => {
    const record = Object.freeze(recordOf(sampleContract(), 'draft'));
    const { contract, digest, modelDigest } = moveLifeCycle(record, 'published', 1);
    expect({ contract, digest, modelDigest }).toEqual({
      contract: record.contract,
      digest: record.digest,
      modelDigest: record.modelDigest,
    });
  });

  it('says where a version can go instead', () => {
    expect(() => moveLifeCycle(recordOf(sampleContract(), 'published'), 'draft', 1)).toThrow(
      expect.objectContaining({ details: { hint: 'From published it can become deprecated or retired.' } }),
    );
  });
});
