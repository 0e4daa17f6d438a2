import { loadBuiltinContracts } from '@toolfabric/catalogue';
import { describe, expect, it } from 'vitest';
import { egressRulesOf } from './egress-rules.ts';

const contract = loadBuiltinContracts().find(({ name }) => name === 'process.run');
if (contract === undefined) throw new Error('no contract process.run');

describe('CL-6: the port that a host is named with is the one that is permitted', () => {
  it.each([
    ['a.example.com', 'a.example.com', [443, 80]],
    ['a.example.com.:8080', 'a.example.com', [8080, 8080]],
    ['127.1:8080', '127.0.0.1', [8080, 8080]],
    ['[2606:4700::1]', '[2606:4700::1]', [443, 80]],
    ['[2606:4700::1]:8080', '[2606:4700::1]', [8080, 8080]],
    ['[2606:4700::1]:8080/path', '[2606:4700::1]', [8080, 8080]],
  ])('%s', (named, host, [https = 0, http = 0]) => {
    expect(egressRulesOf(contract, { argv: ['true'], network: { hosts: [named] } })).toEqual([
      { host, scheme: 'https', ports: [https] },
      { host, scheme: 'http', ports: [http] },
    ]);
  });
});
