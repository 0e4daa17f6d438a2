import { describe, expect, it } from 'vitest';
import { assertPublishable } from './check-publication.ts';
import { compileInput } from './compile-input.ts';
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

  const withNetwork = contracts.filter(({ name }) => ['process.run', 'test.run'].includes(name));
  it.each(withNetwork)(
    'CL-6: $name takes hosts that have one reading, and no other text for one',
    ({ name, input }) => {
      const check = compileInput({ input });
      const takes = (host: string) => {
        const argv = name === 'process.run' ? { argv: ['npm'] } : {};
        return check({ ...argv, network: { hosts: [host] } }).length === 0;
      };
      const good = [
        'a.example.com',
        'https://a.example.com',
        'http://a.example.com:8080',
        '[2606:4700::1]:8443',
        'A-b.io',
      ];
      expect(good.filter((host) => !takes(host))).toEqual([]);
      const bad = ['http:a.test', 'http:/a.test', 'a.test:8080:9', 'a.test:22:', 'ftp://a.test', '-a.test', 'a.test:0'];
      const worse = ['', 'a.test/x', 'u@a.test', 'a.test?b', '//a.test', 'a test', 'a\\test', '[::1', 'http://'];
      expect([...bad, ...worse].filter(takes)).toEqual([]);
    },
  );
});
