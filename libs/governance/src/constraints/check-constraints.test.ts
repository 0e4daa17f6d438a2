import type { TaskConstraints, ToolContract } from '@toolfabric/contract';
import type { CallFacts } from '@toolfabric/ports';
import { describe, expect, it } from 'vitest';
import { checkConstraints, checkConstraintsThemselves } from './check-constraints.ts';
import { isWritable, writablePlaces } from './writable-places.ts';

interface Parts {
  adapter?: string;
  handler?: string;
  network?: string;
  risk?: string;
  writes?: string[];
  hosts?: string[];
}
const contract = ({
  adapter = 'cli',
  handler = 'notes.run',
  network = 'none',
  risk = 'workspace_write',
  writes,
  hosts,
}: Parts) =>
  ({ execution: { adapter, handler, network }, governance: { risk, writes, hosts } }) as unknown as ToolContract;
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

  it.each(['process.run', 'test.run', 'shell.run'])(
    'PO-9: %s is given what its executor can hold it to, and the glob that it cannot hold it to is named',
    (handler) => {
      for (const writable of [['src/**'], ['src/**', './package.json', 'docs/a.md'], [], ['*.md', '**']])
        expect(check({ writable }, { handler })).not.toThrow();
      for (const vague of ['*.md', '**/*.md', 'src/*', 'README.md', '{a,b}/**', 'a/../b/**', 'src/'])
        expect(check({ writable: ['src/**', vague] }, { handler })).toThrow(
          expect.objectContaining({ type: 'constraint_violated', message: expect.stringContaining(` ${vague},`) }),
        );
      expect(check({ writable: ['src/**'] }, { handler, adapter: 'sandbox' })).toThrow(VIOLATED);
    },
  );

  it('PO-9: a text for a shell is refused by what it says it writes, and confined where it may write anywhere', () => {
    const shell = { handler: 'shell.run', risk: 'privileged' };
    expect(check({ writable: ['src/**'] }, shell, { writes: ['src/a', 'b'] })).toThrow(VIOLATED);
    expect(check({ writable: ['src/**'] }, shell, { writes: ['.'] })).not.toThrow();
    expect(check({ writable: ['src/**'] }, edit, { writes: ['.'] })).toThrow(VIOLATED);
  });

  it('PO-9: the repository is a place like any other, and a push writes none', () => {
    for (const handler of ['git.commit', 'git.branch']) {
      expect(check({ writable: ['src/**'] }, { handler })).toThrow(VIOLATED);
      expect(check({ writable: ['.git/refs/**', '*.md'] }, { handler })).toThrow(VIOLATED);
      for (const writable of [['.git/**', '*.md'], ['**']]) expect(check({ writable }, { handler })).not.toThrow();
    }
    expect(check({ writable: [] }, { handler: 'git.push', risk: 'external_write' })).not.toThrow();
  });

  it('tells places that can be mounted, and never more than the globs match', () => {
    expect(writablePlaces(['src/**', './a/b/**', 'a/b/c/**', 'src/**', 'src/x', './y', 'd/z'])).toEqual({
      directories: ['src', 'a/b'],
      files: ['y', 'd/z'],
    });
    expect(writablePlaces(['src/**', '*.md', '**'])).toEqual({ directories: [''], files: [] });
    expect(writablePlaces([])).toEqual({ directories: [], files: [] });
    for (const glob of ['src/*.ts', '*', 'x', '../a/**', 'a/../b/**', 'a/./b/**', 'a*/**', '{a,b}/**', 'a/..', './.'])
      expect(writablePlaces([glob])).toBeUndefined();
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
