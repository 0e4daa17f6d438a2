import type { TaskConstraints, ToolContract } from '@toolfabric/contract';
import type { CallFacts } from '@toolfabric/ports';
import { describe, expect, it } from 'vitest';
import { checkConstraints, checkConstraintsThemselves, isWritable, writableDirectories } from './check-constraints.ts';

interface Parts {
  adapter?: string;
  network?: string;
  risk?: string;
  writes?: string[];
  hosts?: string[];
}
const contract = ({ adapter = 'cli', network = 'none', risk = 'workspace_write', writes, hosts }: Parts) =>
  ({ execution: { adapter, network }, governance: { risk, writes, hosts } }) as unknown as ToolContract;
const check =
  (constraints: TaskConstraints, parts: Parts, facts: Partial<CallFacts> = {}) =>
  () =>
    checkConstraints(constraints, contract(parts), { hosts: [], writes: [], ...facts } as unknown as CallFacts);
const VIOLATED = expect.objectContaining({ type: 'constraint_violated' });

describe('writable paths', () => {
  const edit = { writes: ['/path'] };
  it.each([
    ['src/**', 'src/a/b.ts'],
    ['src/*.ts', 'src/b.ts'],
    ['*.md', 'docs/deep/x.md'],
    ['**', 'anything'],
    ['./src/**', 'src/a'],
  ])('PO-9: %s lets %s be written', (glob, path) => {
    expect(check({ writable: [glob] }, edit, { writes: [path] })).not.toThrow();
  });

  it.each([
    ['src/**', 'package.json'],
    ['src/**', 'src2/a'],
    ['src/**', 'src'],
    ['src/*.ts', 'src/a/b.ts'],
    ['src/**', '../src/a'],
    ['**', '../a'],
    ['**', '/etc/passwd'],
    ['src/**', 'src/../package.json'],
  ])('PO-9: %s does not let %s be written', (glob, path) => {
    expect(check({ writable: [glob] }, edit, { writes: [path] })).toThrow(VIOLATED);
    expect(isWritable([glob], path)).toBe(false);
  });

  it('PO-9: nothing may be written where no glob is given, and everything where none is asked for', () => {
    expect(check({ writable: [] }, edit, { writes: ['a'] })).toThrow(VIOLATED);
    expect(check({}, edit, { writes: ['a'] })).not.toThrow();
  });

  it('PO-9: what writes where nobody can know before is refused, whatever runs it', () => {
    expect(check({ writable: ['src/**'] }, {})).toThrow(VIOLATED);
    expect(check({ writable: ['src/**'] }, { risk: 'privileged' })).toThrow(VIOLATED);
    expect(check({ writable: ['src/**'] }, { adapter: 'sandbox' })).toThrow(VIOLATED);
    expect(check({ writable: ['**'] }, {})).not.toThrow();
    expect(check({ writable: ['src/**'] }, { risk: 'read' })).not.toThrow();
    expect(check({ writable: ['src/**'] }, { writes: [] })).not.toThrow();
    expect(check({ writable: ['src/**'] }, { adapter: 'web', risk: 'external_write' })).not.toThrow();
  });

  it('knows which globs are whole directories', () => {
    expect(writableDirectories(['src/**', './a/b/**', '**'])).toEqual(['src', 'a/b', '']);
    for (const glob of ['src/*.ts', '*', '../a/**', 'a/../b/**', 'a*/**', '{a,b}/**'])
      expect(writableDirectories([glob])).toBeUndefined();
  });
});

describe('forbidden hosts', () => {
  const web = { adapter: 'web', network: 'permit', hosts: ['/url'] };
  it.each([
    ['evil.example', 'evil.example'],
    ['EVIL.example.', 'evil.example'],
    ['*.evil.example', 'a.b.evil.example'],
    ['*.evil.example', 'evil.example'],
    ['bücher.example', 'xn--bcher-kva.example'],
    ['127.1', '127.0.0.1'],
  ])('PO-9: %s forbids %s', (pattern, host) => {
    expect(check({ forbiddenHosts: [pattern] }, web, { hosts: ['ok.example', host] })).toThrow(VIOLATED);
  });

  it.each([
    ['evil.example', 'a.evil.example'],
    ['*.evil.example', 'notevil.example'],
    ['evil.example', 'evil.example.com'],
  ])('%s does not forbid %s', (pattern, host) => {
    expect(check({ forbiddenHosts: [pattern] }, web, { hosts: [host] })).not.toThrow();
  });

  it('PO-9: hosts that cannot be known before are not reached at all', () => {
    const unknown = { adapter: 'web', network: 'permit' };
    expect(check({ forbiddenHosts: ['a.example'] }, unknown)).toThrow(VIOLATED);
    expect(check({}, unknown)).not.toThrow();
  });
});

describe('constraints of a new task', () => {
  it.each([
    [{ writable: ['../x'] }, '/constraints/writable/0'],
    [{ writable: ['a/**', '[a'] }, '/constraints/writable/1'],
    [{ forbiddenHosts: ['a b'] }, '/constraints/forbiddenHosts/0'],
    [{ forbiddenHosts: ['a.*.example'] }, '/constraints/forbiddenHosts/0'],
  ])('PO-9: %j cannot be read', (constraints, field) => {
    expect(() => checkConstraintsThemselves(constraints)).toThrow(
      expect.objectContaining({ type: 'invalid_request', message: expect.stringContaining(field) }),
    );
  });

  it('others can', () => {
    expect(() =>
      checkConstraintsThemselves({ writable: ['src/**', '*.md'], forbiddenHosts: ['*.a.example', '10.0.0.1'] }),
    ).not.toThrow();
  });
});
