import { ISOLATION_LEVELS, RiskGroup, type ToolContract } from '@toolfabric/contract';
import { FabricError } from '@toolfabric/kernel';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { chooseExecution, type ExecutionQuestion, type LiveExecutor } from './choose-execution.ts';
import { isolationFloor, isolationRank } from './isolation-floor.ts';

const executor = (isolation: readonly string[], parts: Partial<LiveExecutor> = {}): LiveExecutor => ({
  incarnation: 'w1',
  state: 'alive',
  handlers: ['read_file'],
  isolation: [...isolation],
  ...parts,
});

const question = (
  live: Record<string, LiveExecutor[]>,
  parts: Partial<ExecutionQuestion> = {},
  execution: Partial<ToolContract['execution']> = {},
  risk: RiskGroup = 'read',
): ExecutionQuestion => ({
  contract: {
    name: 'workspace.read_file',
    execution: { adapter: 'cli', handler: 'read_file', isolation: 'namespace', pools: [], ...execution },
    governance: { risk },
  } as unknown as ToolContract,
  liveKinds: new Map(Object.entries(live)),
  inputTrust: 'trusted',
  tenancy: 'single',
  ...parts,
});

const refusal = (asked: ExecutionQuestion): FabricError => {
  try {
    chooseExecution(asked);
  } catch (error) {
    if (error instanceof FabricError) return error;
    throw error;
  }
  throw new Error('was not refused');
};

describe('where a call runs', () => {
  it('RT-3: in the pool named like the adapter, at the minimum of the contract, with reasons', () => {
    const choice = chooseExecution(question({ cli: [executor(['process', 'namespace'])] }));
    expect(choice).toMatchObject({ kind: 'cli', isolation: 'namespace', priority: 'hi', rejected: [] });
    expect(choice.reasons.join(' ')).toContain('namespace');
  });

  it('CL-6: a call with a network goes only where every executor of the pool has a way out', () => {
    const network = { network: 'permit' as const };
    const open = executor(['namespace'], { egress: true });
    expect(chooseExecution(question({ cli: [open] }, {}, network)).kind).toBe('cli');
    const half = question({ cli: [open, executor(['namespace'])] }, {}, network);
    expect(refusal(half)).toMatchObject({ type: 'egress_unavailable' });
    expect(chooseExecution(question({ cli: [executor(['namespace'])] })).kind).toBe('cli');
    expect(chooseExecution({ ...half, reachesOut: false }).kind).toBe('cli');
  });

  it.each(['external_write', 'irreversible'] as const)(
    'WB-4, SB-5: %s of a worker of the web needs no namespace where a permit is all that it can reach',
    (risk) => {
      const shared = { tenancy: 'shared', inputTrust: 'untrusted' } as const;
      const live = { web: [executor(['process'], { egress: true })], cli: [executor(['process'], { egress: true })] };
      const asked = (execution: Partial<ToolContract['execution']>, of: RiskGroup = risk) =>
        question(live, shared, { isolation: 'process', network: 'permit', adapter: 'web', ...execution }, of);
      expect(chooseExecution(asked({}))).toMatchObject({ kind: 'web', isolation: 'process' });
      for (const more of [asked({ adapter: 'cli' }), asked({ network: 'none' }), asked({ isolation: 'namespace' })])
        expect(refusal(more).type).toBe('sandbox_unavailable');
      for (const other of ['workspace_write', 'privileged'] as const)
        expect(refusal(asked({}, other)).type).toBe('sandbox_unavailable');
    },
  );

  it('RT-3: in the first pool of the contract that can, and says why the others cannot', () => {
    const live = {
      cli: [executor(['namespace'])],
      'cli-old': [executor(['namespace'], { handlers: [] })],
      'cli-weak': [executor(['process'])],
      'cli-good': [executor(['container'])],
    };
    const pools = ['cli-gone', 'cli-old', 'cli-weak', 'cli-good'];
    const choice = chooseExecution(question(live, { priority: 'lo' }, { pools }));
    expect(choice).toMatchObject({ kind: 'cli-good', isolation: 'container', priority: 'lo' });
    expect(choice.rejected.map(({ kind, why }) => [kind, why])).toEqual([
      ['cli-gone', 'not_live'],
      ['cli-old', 'handler_unknown'],
      ['cli-weak', 'isolation_missing'],
    ]);
  });

  it('RT-3: a missing level is refused and never replaced by a weaker one', () => {
    const error = refusal(question({ cli: [executor(['process', 'namespace'])] }, {}, { isolation: 'gvisor' }));
    expect(error.type).toBe('sandbox_unavailable');
    expect(error.toToolError().retryable).toBe(false);
  });

  it.each([
    ['nobody', {}],
    ['a dead one', { cli: [executor(['namespace'], { state: 'dead' })] }],
    ['a drained one', { cli: [executor(['namespace'], { state: 'drained' })] }],
    ['one that does not know the handler', { cli: [executor(['namespace'], { handlers: ['other'] })] }],
    ['another kind', { browser: [executor(['namespace'])] }],
  ])('%s: no_executor, which may be tried again', (_, live) => {
    const error = refusal(question(live));
    expect(error.type).toBe('no_executor');
    expect(error.toToolError().retryable).toBe(true);
  });

  it('stays retryable while one of the pools is only away', () => {
    const live = { 'cli-weak': [executor(['process'])] };
    expect(refusal(question(live, {}, { pools: ['cli-weak', 'cli-gone'] })).type).toBe('no_executor');
  });

  it('RT-3: counts on no level that one executor of the pool lacks, since any of them may get the message', () => {
    const mixed = [executor(['process', 'gvisor']), executor(['process', 'container'], { incarnation: 'w2' })];
    expect(refusal(question({ cli: mixed })).type).toBe('sandbox_unavailable');
    const dead = [executor(['gvisor']), executor(['process'], { state: 'dead' })];
    expect(chooseExecution(question({ cli: dead })).isolation).toBe('gvisor');
  });

  it('takes levels that it does not know for none', () => {
    expect(refusal(question({ cli: [executor(['vm2', '', 'NAMESPACE'])] })).type).toBe('sandbox_unavailable');
  });
});

const arbitraryQuestion = fc
  .record({
    offered: fc.array(fc.subarray([...ISOLATION_LEVELS]), { minLength: 1, maxLength: 4 }),
    minimum: fc.constantFrom(...ISOLATION_LEVELS),
    risk: fc.constantFrom(...RiskGroup.options),
    inputTrust: fc.constantFrom('trusted' as const, 'untrusted' as const),
    tenancy: fc.constantFrom('single' as const, 'shared' as const),
  })
  .map(({ offered, minimum, risk, inputTrust, tenancy }) => ({
    asked: question(
      { cli: offered.map((levels) => executor(levels)) },
      { inputTrust, tenancy },
      { isolation: minimum },
      risk,
    ),
    offered,
    needed: Math.max(isolationRank(minimum), isolationRank(isolationFloor(risk, inputTrust, tenancy))),
  }));

describe('isolation, for any risk, trust, tenancy and offer', () => {
  it('RT-3: is never below what contract and circumstances ask for, and always on offer everywhere', () => {
    fc.assert(
      fc.property(arbitraryQuestion, ({ asked, offered, needed }) => {
        const possible = ISOLATION_LEVELS.some(
          (level) => isolationRank(level) >= needed && offered.every((levels) => levels.includes(level)),
        );
        if (!possible) {
          expect(refusal(asked).type).toBe('sandbox_unavailable');
          return;
        }
        const { isolation } = chooseExecution(asked);
        expect(isolationRank(isolation)).toBeGreaterThanOrEqual(needed);
        expect(offered.every((levels) => levels.includes(isolation))).toBe(true);
      }),
      { numRuns: 500 },
    );
  });

  it('RT-3: less trust, shared executors and a higher risk never ask for less', () => {
    for (const [i, risk] of RiskGroup.options.entries()) {
      const floor = (trust: 'trusted' | 'untrusted', tenancy: 'single' | 'shared', at = risk) =>
        isolationRank(isolationFloor(at, trust, tenancy));
      expect(floor('untrusted', 'single')).toBeGreaterThanOrEqual(floor('trusted', 'single'));
      expect(floor('untrusted', 'shared')).toBeGreaterThanOrEqual(floor('trusted', 'shared'));
      expect(floor('trusted', 'shared')).toBeGreaterThanOrEqual(floor('trusted', 'single'));
      expect(floor('untrusted', 'shared')).toBeGreaterThanOrEqual(floor('untrusted', 'single'));
      for (const lower of RiskGroup.options.slice(0, i)) {
        expect(floor('trusted', 'single')).toBeGreaterThanOrEqual(floor('trusted', 'single', lower));
        expect(floor('untrusted', 'shared')).toBeGreaterThanOrEqual(floor('untrusted', 'shared', lower));
      }
    }
  });

  it('CL-3: a shell text runs in namespaces for one tenant alone, and is refused where tenants share what is weaker', () => {
    const offers = { cli: [executor(['process', 'namespace', 'container'])] };
    const shell = (tenancy: 'single' | 'shared', inputTrust: 'trusted' | 'untrusted' = 'trusted') =>
      question(offers, { inputTrust, tenancy }, { isolation: 'namespace' }, 'privileged');
    expect(chooseExecution(shell('single')).isolation).toBe('namespace');
    expect(refusal(shell('shared')).type).toBe('sandbox_unavailable');
    expect(refusal(shell('single', 'untrusted')).type).toBe('sandbox_unavailable');
  });

  it('RT-3: the same question has the same answer', () => {
    const asked = question(
      { cli: [executor(['namespace', 'gvisor'])] },
      { inputTrust: 'untrusted', tenancy: 'shared' },
    );
    expect(chooseExecution(asked)).toEqual(chooseExecution(structuredClone(asked)));
  });
});
