import { contractDigests, reviewPublication } from '@toolfabric/catalogue';
import type { RegistryRecord } from '@toolfabric/contract';
import { describe, expect, it } from 'vitest';
import { trackerContracts } from './interface.ts';

const contracts = trackerContracts('127.0.0.1:4000');
const byName = (name: string) => contracts.find((contract) => contract.name === name);

describe('WB-4: the tracker as a declared interface', () => {
  it('gives tools that can be published', () => {
    const published: RegistryRecord[] = [];
    const problems = contracts.flatMap((contract) => {
      const review = reviewPublication(contract, published);
      published.push({ contract, state: 'published', ...contractDigests(contract) });
      return review.problems.map(({ message }) => `${contract.name}: ${message}`);
    });
    expect(problems).toEqual([]);
    expect(contracts).toHaveLength(7);
  });

  it('writes only by tools that say so, each to its own place', () => {
    const risks = contracts.map(({ name, governance }) => [name, governance.risk]);
    expect(Object.fromEntries(risks)).toEqual({
      'issue.read': 'read',
      'issue.comments': 'read',
      'issue.comment': 'external_write',
      'issue.comment_once': 'external_write',
      'issue.comment_kept': 'external_write',
      'issue.note': 'external_write',
      'issue.close': 'irreversible',
    });
    expect(byName('issue.comment')?.execution).toMatchObject({
      options: { key_header: 'idempotency-key', body: { fields: ['body', 'key'] } },
      egress: { rules: [{ host: '127.0.0.1', scheme: 'http', ports: [4000], methods: ['POST'], paths: ['/issues'] }] },
    });
    expect(byName('issue.close')?.governance.precondition).toBe('/etag');
  });
});
