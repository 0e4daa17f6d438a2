import { MOST_TAINT_MARKS, type RiskGroup, TaintRecord, type ToolContract } from '@toolfabric/contract';
import type { CallFacts } from '@toolfabric/ports';
import { describe, expect, it } from 'vitest';
import { mindsTaint, raiseByTaint, TAINT_RULES } from './raise-by-taint.ts';
import { addTaint, outsideOrigin, SEVERAL_ORIGINS, taintOf } from './taint-record.ts';

const mark = (origin: string, at = 1, more: { private?: boolean } = {}) => ({ origin, callId: `c-${at}`, at, ...more });
const DAY = 86_400_000;

describe('what is taint', () => {
  it.each([
    ['trusted', 'https://a.example', undefined],
    ['untrusted', 'https://a.example', 'https://a.example'],
    ['untrusted', 'workspace:t-1', undefined],
    ['untrusted', 'workspace:t-2', 'workspace:t-2'],
    ['untrusted', undefined, 'tool:web.read'],
  ] as const)('RS-6: %s content of %s is %s', (trust, origin, found) => {
    expect(outsideOrigin({ trust, origin }, 'web.read', 't-1')).toBe(found);
  });
});

describe('the record of an agent and its user', () => {
  it('RS-6: has one mark an origin and task, and is not written again for the same', () => {
    const one = addTaint(undefined, mark('https://a.example'), 't-1') as TaintRecord;
    expect(addTaint(one, mark('https://a.example', 2), 't-1')).toBeUndefined();
    expect(addTaint(one, mark('https://a.example', 2), 't-2')?.marks).toHaveLength(2);
    expect(addTaint(one, mark('https://a.example', 2, { private: true }), 't-1')?.marks).toHaveLength(1);
  });

  it('RS-6: remembers from its last time what is read again, and that it was private', () => {
    const one = addTaint(undefined, mark('https://a.example', DAY, { private: true }), 't-1');
    const again = addTaint(one, mark('https://a.example', 2 * DAY - 1), 't-1');
    expect(taintOf(again, 't-2', 2 * DAY + 1)).toEqual([mark('https://a.example', 2 * DAY - 1, { private: true })]);
    expect(again?.marks).toHaveLength(1);
  });

  it('RS-6: a task has its own marks for ever, and those of other tasks for a day', () => {
    const record = addTaint(undefined, mark('https://a.example', DAY), 't-1');
    expect(taintOf(record, 't-1', 9 * DAY)).toEqual([mark('https://a.example', DAY)]);
    expect(taintOf(record, 't-2', 2 * DAY - 1)).toHaveLength(1);
    expect(taintOf(record, 't-2', 2 * DAY)).toEqual([]);
  });

  it('RS-6: is bounded, and the oldest count on together', () => {
    let record: TaintRecord | undefined;
    for (let n = 0; n < 300; n += 1)
      record = addTaint(record, mark(`https://h${n}.example`, n, n === 0 ? { private: true } : {}), 't-1') ?? record;
    expect(TaintRecord.parse(record).marks).toHaveLength(MOST_TAINT_MARKS);
    expect(record?.marks.filter(({ origin }) => origin === SEVERAL_ORIGINS)).toEqual([
      expect.objectContaining({ private: true }),
    ]);
    expect(taintOf(record, 't-2', 20 * DAY).map(({ origin }) => origin)).toEqual([SEVERAL_ORIGINS]);
    expect(JSON.stringify(record).length).toBeLessThan(16_000);
  });
});

const facts = (changes: Partial<CallFacts>): CallFacts => ({
  hosts: [],
  paths: [],
  writes: [],
  credential: 'none',
  environment: 'development',
  taint: [],
  risk: 'read',
  raisedBy: [],
  roles: [],
  ...changes,
});
const contract = (network: 'none' | 'permit', hosts?: string[]) =>
  ({ execution: { network, credentials: [] }, governance: { hosts } }) as unknown as ToolContract;

describe('the rule of taint', () => {
  const [READ, SECRET] = [mark('https://a.example/page'), mark('https://a.example', 1, { private: true })];
  it.each<[string, Partial<CallFacts>, string[], RiskGroup]>([
    ['nothing was read', { hosts: ['b.example'] }, [], 'read'],
    ['another host', { hosts: ['b.example'], taint: [READ] }, [TAINT_RULES.sendsElsewhere], 'external_write'],
    ['the host that it came from', { hosts: ['a.example'], taint: [READ] }, [], 'read'],
    ['no host', { taint: [READ] }, [], 'read'],
    ['the host of a page', { hosts: ['a.example'], taint: [mark('web:https://a.example:8443')] }, [], 'read'],
    [
      'one of several that content came from',
      { hosts: ['a.example'], taint: [mark('https://b.example, https://a.example')] },
      [TAINT_RULES.sendsElsewhere],
      'external_write',
    ],
    ...['folder', 'tool', 'mcp', 'web'].map((host): [string, Partial<CallFacts>, string[], RiskGroup] => [
      `the host ${host}, which is the kind of an origin`,
      { hosts: [host], taint: [mark(`${host}:acme`)] },
      [TAINT_RULES.sendsElsewhere],
      'external_write',
    ]),
    ['a host that was permitted by name', { hosts: ['p.example'], taint: [READ] }, [], 'read'],
    ['a credential', { credential: 'user', taint: [READ] }, [TAINT_RULES.usesCredential], 'external_write'],
    [
      'a higher level stays',
      { hosts: ['b.example'], taint: [READ], risk: 'irreversible' },
      [TAINT_RULES.sendsElsewhere],
      'irreversible',
    ],
    [
      'private data to the host of something else',
      { hosts: ['c.example'], taint: [SECRET, mark('https://c.example')] },
      [TAINT_RULES.privateElsewhere],
      'external_write',
    ],
    ['private data to a host that was permitted by name', { hosts: ['p.example'], taint: [SECRET] }, [], 'read'],
    [
      'private data to a permitted host and to another one',
      { hosts: ['b.example', 'p.example'], taint: [SECRET] },
      [TAINT_RULES.sendsElsewhere, TAINT_RULES.privateElsewhere],
      'external_write',
    ],
    [
      'a credential to a host that was permitted by name',
      { hosts: ['p.example'], credential: 'user', taint: [READ] },
      [TAINT_RULES.usesCredential],
      'external_write',
    ],
    ['private data to where it came from', { hosts: ['a.example'], taint: [SECRET] }, [], 'read'],
    [
      'a host after many origins',
      { hosts: ['b.example'], taint: [mark(SEVERAL_ORIGINS)] },
      [TAINT_RULES.sendsElsewhere],
      'external_write',
    ],
  ])('RS-6: %s', (_what, changes, raisedBy, risk) => {
    const raised = raiseByTaint(facts(changes), contract('permit', ['/url']), (host) => host === 'p.example');
    expect(raised).toMatchObject({ raisedBy, risk });
  });

  it('RS-6: hosts that cannot be known before count as others', () => {
    expect(raiseByTaint(facts({ taint: [READ] }), contract('permit')).risk).toBe('external_write');
    expect(raiseByTaint(facts({ taint: [READ] }), contract('none')).risk).toBe('read');
    expect(
      [contract('permit'), contract('none', ['/url']), contract('none')].map((one) =>
        mindsTaint(one, { url: 'https://a.example.com/' }),
      ),
    ).toEqual([true, true, false]);
  });

  const ruledBy = (hosts: string[], inArguments?: string[]) => {
    const { execution, governance } = contract('permit', inArguments);
    return {
      execution: { ...execution, egress: { rules: hosts.map((host) => ({ host })) } },
      governance,
    } as ToolContract;
  };
  it.each<[string, ToolContract, string[]]>([
    ['where the content came from', ruledBy(['a.example']), []],
    ['one that was permitted by name', ruledBy(['a.example', 'p.example']), []],
    ['another one', ruledBy(['a.example', 'b.example']), [TAINT_RULES.sendsElsewhere]],
    ['another one, beside what the arguments name', ruledBy(['b.example'], ['/url']), [TAINT_RULES.sendsElsewhere]],
    ['whatever lies below a name', ruledBy(['*.a.example']), [TAINT_RULES.sendsAnywhere]],
    ['any, beside what the arguments name', ruledBy(['*'], ['/url']), [TAINT_RULES.sendsAnywhere]],
  ])('RS-6: hosts of the contract itself: %s', (_what, one, raisedBy) => {
    const hosts = one.execution.egress?.rules.map(({ host }) => host).filter((host) => !host.startsWith('*'));
    const raised = raiseByTaint(facts({ taint: [READ], hosts: hosts ?? [] }), one, (host) => host === 'p.example');
    expect(raised.raisedBy).toEqual(raisedBy);
  });
});
