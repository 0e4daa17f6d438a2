import { ToolContract } from '@toolfabric/contract';
import { FabricError } from '@toolfabric/kernel';
import { describe, expect, it } from 'vitest';
import { credentialHandles } from './credential-handles.ts';
import { factsOf } from './extract.ts';
import { hostOf } from './extract-hosts.ts';
import { resourceOf, scopesAround } from './extract-resource.ts';
import { mindsTaint } from './taint/raise-by-taint.ts';

const ADA = { tenant: 'acme', user: 'ada', agent: 'coder' };
const TASK = { taskId: `t-${'0'.repeat(26)}` };

const contractWith = (governance: Record<string, unknown>, execution: Record<string, unknown> = {}) =>
  ToolContract.parse({
    name: 'net.send',
    version: '1.0.0',
    toolset: 'net',
    capability: {
      intent: 'mail.send',
      description: 'Sends a text to an address of the network.',
      use_when: ['x'],
      not_for: ['y'],
      examples: [{ arguments: {} }],
    },
    input: {
      type: 'object',
      properties: { to: {}, files: {}, argv: { type: 'array' }, owner: {}, repo: {}, number: {} },
    },
    execution: { adapter: 'cli', handler: 'h', isolation: 'process', timeout_ms: 1_000, ...execution },
    output: { format: 'json', budget_bytes: 1_000 },
    governance: { risk: 'workspace_write', idempotent: true, ...governance },
  });

const facts = (
  args: Record<string, unknown>,
  governance: Record<string, unknown>,
  task: Partial<Parameters<typeof factsOf>[0]['task']> = {},
  execution: Record<string, unknown> = {},
) =>
  factsOf({
    contract: contractWith(governance, execution),
    args,
    actor: ADA,
    task: { ...TASK, ...task },
    environment: 'development',
  });

const refusalOf = (act: () => unknown): string => {
  try {
    act();
  } catch (error) {
    if (error instanceof FabricError) return error.type;
    throw error;
  }
  return 'none';
};

describe('a host', () => {
  it.each([
    ['https://Example.COM:8443/a?b#c', 'example.com'],
    ['https://user:secret@example.com/', 'example.com'],
    ['https://good.example@evil.example/', 'evil.example'],
    ['ftp://example.com', 'example.com'],
    ['example.com', 'example.com'],
    ['example.com.', 'example.com'],
    ['example.com:443', 'example.com'],
    ['git@github.com:shop/checkout.git', 'github.com'],
    ['http://0x7f.1/', '127.0.0.1'],
    ['http://2130706433/', '127.0.0.1'],
    ['http://[::1]:80/', '[::1]'],
    ['http://bücher.example', 'xn--bcher-kva.example'],
  ])('PO-9: of %s is %s', (text, host) => {
    expect(hostOf(text)).toBe(host);
  });

  it.each(['', 'http://', 'a b', 'https://a\n.example', 'https:\\\\example.com', 'http://a\tb'])(
    'is not in %j',
    (text) => {
      expect(hostOf(text)).toBeUndefined();
    },
  );

  it('that cannot be told is refused, since no rule could judge it', () => {
    expect(facts({ to: ['https://b.example', 'a.example', 'A.example'] }, { hosts: ['/to'] }).hosts).toEqual([
      'a.example',
      'b.example',
    ]);
    expect(refusalOf(() => facts({ to: 'no host' }, { hosts: ['/to'] }))).toBe('invalid_arguments');
    expect(facts({}, { hosts: ['/to'] }).hosts).toEqual([]);
  });
});

describe('a path', () => {
  it('is told without its turns, and written ones apart', () => {
    const told = facts(
      { files: ['./a/../b/', 'c', '../out', '/etc/x'], to: 'run.sh' },
      { writes: ['/files'], executes: ['/to'] },
    );
    expect(told.writes).toEqual(['../out', '/etc/x', 'b', 'c']);
    expect(told.paths).toEqual(['../out', '/etc/x', 'b', 'c', 'run.sh']);
  });
});

describe('a resource', () => {
  const template = 'github:repo:{/repo}#{/number}';

  it('is filled in, the whole before its part', () => {
    expect(resourceOf(template, { repo: 'shop/checkout', number: 4821 })).toBe('github:repo:shop/checkout#4821');
    expect(scopesAround('github:repo:shop/checkout#4821')).toEqual([
      'github:repo:shop/checkout',
      'github:repo:shop',
      'github:repo',
      'github',
    ]);
  });

  it('is never another one by what its arguments say', () => {
    expect(resourceOf('r:{/owner}/{/repo}', { owner: 'a/b', repo: 'c' })).toBe('r:a%2Fb/c');
    expect(resourceOf(template, { repo: 'a#1:b%2F', number: 2 })).toBe('github:repo:a%231%3Ab%252F#2');
    for (const repo of ['..', 'a/../b', './a', '/a', 'a//b', '', 'a/', 3.5, true, null, undefined, ['a'], '\ud800'])
      expect(refusalOf(() => resourceOf(template, { repo, number: 1 }))).toBe('invalid_arguments');
    expect(refusalOf(() => resourceOf(template, { repo: 'a'.repeat(600), number: 1 }))).toBe('invalid_arguments');
  });
});

describe('the risk of a call', () => {
  const raise = [
    { name: 'installs', when: "contains(argv, 'install')", to: 'external_write' },
    { name: 'forces', when: "contains(argv, '--force')", to: 'irreversible' },
    { name: 'reads', when: "argv[0] == 'cat'", to: 'read' },
  ];

  it('PO-7: is raised by the rules of its contract, and never lowered', () => {
    expect(facts({ argv: ['npm', 'test'] }, { raise })).toMatchObject({ risk: 'workspace_write', raisedBy: [] });
    expect(facts({ argv: ['npm', 'install'] }, { raise })).toMatchObject({
      risk: 'external_write',
      raisedBy: ['installs'],
    });
    expect(facts({ argv: ['install', '--force'] }, { raise })).toMatchObject({
      risk: 'irreversible',
      raisedBy: ['installs', 'forces'],
    });
    expect(facts({ argv: ['cat'] }, { raise })).toMatchObject({ risk: 'workspace_write', raisedBy: [] });
  });

  it('PO-7: is raised by a rule that cannot be said', () => {
    expect(facts({}, { raise })).toMatchObject({ risk: 'irreversible', raisedBy: ['installs', 'forces'] });
  });

  it('PO-7: is raised by the command that the task declared', () => {
    const declared = [{ name: 'declared', when: "test_command[0] == 'pip'", to: 'external_write' }];
    const testCommand = { argv: ['pip', 'install', 'x'], sha256: '' };
    expect(facts({ argv: [] }, { raise: declared }, { testCommand }).raisedBy).toEqual(['declared']);
    expect(facts({ argv: [] }, { raise: declared }).raisedBy).toEqual([]);
    const own = { argv: [], test_command: ['make'] };
    expect(facts(own, { raise: declared }, { testCommand }).raisedBy).toEqual(['declared']);
  });
});

describe('what else is told of a call', () => {
  it('PO-1: whose credential it uses; one that says nothing is taken for everybody’s', () => {
    const used = (...credentials: string[]) => facts({}, {}, {}, { credentials });
    expect(used()).toMatchObject({ credential: 'none' });
    expect(used()).not.toHaveProperty('account');
    expect(used('user:github')).toMatchObject({ credential: 'user', account: 'acme/ada' });
    expect(used('user:github', 'tenant:mail')).toMatchObject({ credential: 'tenant', account: 'acme' });
    expect(used('tenant:mail', 'github')).toMatchObject({ credential: 'shared', account: 'shared' });
  });

  it('PO-11: also a credential that only its way out injects, once', () => {
    const rules = [
      { host: 'api.example.com', credential: 'user:tracker' },
      { host: 'cdn.example.com' },
      { host: 'www.example.com', credential: 'user:tracker' },
    ];
    const egress = { rules, max_bytes: 5_000, max_connections: 1 };
    expect(facts({}, {}, {}, { egress })).toMatchObject({ credential: 'user', account: 'acme/ada' });
    const contract = contractWith({}, { credentials: ['tenant:mail'], egress });
    expect(credentialHandles(contract)).toEqual(['tenant:mail', 'user:tracker']);
    expect(mindsTaint({ ...contract, execution: { ...contract.execution, credentials: [] } }, {})).toBe(true);
  });

  it('PO-11: whose account acts, where the credential itself says it', () => {
    const input = { args: {}, actor: ADA, task: TASK, environment: 'development' as const, account: 'ada@tracker' };
    const told = factsOf({ ...input, contract: contractWith({}, {}) });
    expect(told).toMatchObject({ account: 'ada@tracker' });
  });

  it('PO-9: whether its task wants it confirmed, by tool or intent', () => {
    for (const confirm of [['net.send'], ['mail.send']])
      expect(facts({}, {}, { constraints: { confirm } })).toMatchObject({ confirm: true });
    expect(facts({}, {}, { constraints: { confirm: ['net.sen', 'mail'] } })).not.toHaveProperty('confirm');
  });
});

describe('PO-1: limits of one call', () => {
  const limits = (
    request: Parameters<typeof factsOf>[0]['requestLimits'],
    task?: Parameters<typeof factsOf>[0]['requestLimits'],
  ) =>
    factsOf({
      contract: contractWith({}),
      args: {},
      actor: ADA,
      task: { ...TASK, ...(task === undefined ? {} : { constraints: { limits: task } }) } as never,
      environment: 'development',
      ...(request === undefined ? {} : { requestLimits: request }),
    }).requestLimits;

  it('are the lower of what request and task say, each by itself', () => {
    expect(limits({ timeoutMs: 50, outputBytes: 900 }, { timeoutMs: 70, outputTokens: 80 })).toEqual({
      timeoutMs: 50,
      outputBytes: 900,
      outputTokens: 80,
    });
    expect(limits(undefined, { timeoutMs: 70 })).toEqual({ timeoutMs: 70 });
    expect(limits({ outputBytes: 300 })).toEqual({ outputBytes: 300 });
  });

  it('are none where neither says anything', () => {
    expect(limits(undefined)).toBeUndefined();
    expect(limits({}, {})).toBeUndefined();
  });
});
