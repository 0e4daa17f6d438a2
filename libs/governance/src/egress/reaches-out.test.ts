import { loadBuiltinContracts } from '@toolfabric/catalogue';
import type { ToolContract } from '@toolfabric/contract';
import { describe, expect, it } from 'vitest';
import { hostTextsAt } from '../extract.ts';
import { mindsTaint } from '../taint/raise-by-taint.ts';
import { egressRulesOf } from './egress-rules.ts';
import { reachesOut } from './reaches-out.ts';

const contractOf = (name: string): ToolContract => {
  const found = loadBuiltinContracts().find((contract) => contract.name === name);
  if (found === undefined) throw new Error(`no contract ${name}`);
  return found;
};

describe('CL-6: a command reaches out only where its call names hosts', () => {
  it.each(['process.run', 'test.run'])('%s', (name) => {
    const contract = contractOf(name);
    const args = { argv: ['npm', 'run', 'setup'] };
    expect([reachesOut(contract, args), mindsTaint(contract, args)]).toEqual([false, false]);
    const asked = { ...args, network: { hosts: ['registry.example.com', 'http://files.example.com:8080'] } };
    expect([reachesOut(contract, asked), mindsTaint(contract, asked)]).toEqual([true, true]);
    expect(egressRulesOf(contract, asked)).toEqual([
      { host: 'registry.example.com', scheme: 'https', ports: [443] },
      { host: 'registry.example.com', scheme: 'http', ports: [80] },
      { host: 'files.example.com', scheme: 'http', ports: [8080] },
    ]);
  });

  it('a contract that lists hosts itself always does, and one without a network never', () => {
    const contract = contractOf('process.run');
    const egress = { rules: [{ host: 'a.example.com' }], max_bytes: 5_000, max_connections: 1 };
    const fixed = { ...contract, execution: { ...contract.execution, egress } };
    expect(reachesOut(fixed, {})).toBe(true);
    const { egress: _, ...execution } = contract.execution;
    expect(
      reachesOut(
        { ...contract, execution: { ...execution, network: 'none' } },
        { network: { hosts: ['a.example.com'] } },
      ),
    ).toBe(false);
  });

  it('CL-6: git.push to a path of the machine names no host; to an address it names one, however it is written', () => {
    const contract = contractOf('git.push');
    const at = (remote: string) => ({ remote, branch: 'main', commit: '0'.repeat(40) });
    expect(reachesOut(contract, at('/srv/git/shop.git'))).toBe(false);
    expect(egressRulesOf(contract, at('/srv/git/shop.git'))).toEqual([]);
    expect(hostTextsAt(at('/srv/git/shop.git'), contract)).toEqual([]);
    expect(egressRulesOf(contract, at('https://git.example.com/shop.git'))).toEqual([
      { host: 'git.example.com', scheme: 'https', ports: [443] },
    ]);
    for (const hidden of ['//git.example.com/shop.git', '/\\git.example.com/shop.git'])
      expect(hostTextsAt(at(hidden), contract)).toHaveLength(1);
  });
});
