import { TaskConstraints, type TaskRecord } from '@toolfabric/contract';
import { describe, expect, it } from 'vitest';
import {
  asWidened,
  isPermittedHost,
  objectionToWiden,
  permittedHosts,
  WIDEST,
  WIDEST_RECORD,
  widenTask,
} from './widening.ts';

const task = (changes: Partial<TaskRecord> = {}): TaskRecord => ({
  taskId: `t-${'0'.repeat(26)}`,
  actor: { tenant: 'acme', user: 'ada', agent: 'coder' },
  title: '',
  constraints: { writable: ['src/**'], forbiddenHosts: ['evil.example'] },
  state: 'open',
  createdAt: 1,
  ...changes,
});
const grace = { tenant: 'acme', user: 'grace', agent: 'console', tokenId: 't', rights: ['tasks:widen'] };
const by = { by: 'grace', at: 5 };

describe('PO-7: who may widen a task', () => {
  it('another person with the right, and nobody else', () => {
    expect(objectionToWiden(grace, task())).toBeUndefined();
    expect(objectionToWiden({ ...grace, rights: [] }, task())).toContain('tasks:widen');
    expect(objectionToWiden({ ...grace, rights: ['approvals:decide'] }, task())).toContain('tasks:widen');
    expect(objectionToWiden({ ...grace, user: 'ada' }, task())).toContain('works for');
    expect(objectionToWiden({ ...grace, user: 'ADA', agent: 'other' }, task())).toContain('works for');
  });
});

describe('PO-7: a task that was widened', () => {
  it('may write what was added, beside what it might already; what it was made with stays as it was', () => {
    const after = widenTask(task(), { ...by, writable: ['docs/**'] });
    expect(after.constraints).toEqual(task().constraints);
    expect(asWidened(after).constraints).toEqual({
      writable: ['src/**', 'docs/**'],
      forbiddenHosts: ['evil.example'],
    });
    const twice = widenTask(after, { ...by, writable: ['test/**'] });
    expect(asWidened(twice).constraints?.writable).toEqual(['src/**', 'docs/**', 'test/**']);
  });

  it('without a restriction stays without one', () => {
    const after = widenTask(task({ constraints: {} }), { ...by, writable: ['docs/**'] });
    expect(asWidened(after).constraints?.writable).toBeUndefined();
  });

  it('RS-6: may send to the hosts that were named, by whole labels', () => {
    const after = widenTask(task(), { ...by, hosts: ['api.example', '*.shop.example', '127.1'] });
    for (const host of ['api.example', 'a.shop.example', 'a.b.shop.example', '127.0.0.1'])
      expect(isPermittedHost(after, host), host).toBe(true);
    for (const host of ['api.example.evil', 'xapi.example', 'shop.example', 'notshop.example', 'evil.example'])
      expect(isPermittedHost(after, host), host).toBe(false);
    expect(isPermittedHost(task(), 'api.example')).toBe(false);
  });

  it('is the same when nothing is new', () => {
    const after = widenTask(task(), { ...by, writable: ['docs/**'], hosts: ['api.example'] });
    expect(widenTask(after, { by: 'linus', at: 9, writable: ['docs/**'] })).toBe(after);
    expect(widenTask(after, { by: 'linus', at: 9, writable: ['src/**'], hosts: ['api.example'] })).toBe(after);
    expect(widenTask(after, { by: 'linus', at: 9, hosts: ['b.example'] })).not.toBe(after);
  });

  it('stores what is new of it, once', () => {
    const after = widenTask(task(), { ...by, writable: ['docs/**', 'docs/**'], hosts: ['a.example'] });
    const more = { by: 'linus', at: 9, writable: ['src/**', 'docs/**', 'x/**'], hosts: ['a.example'], note: 'why' };
    expect(widenTask(after, more).widened).toEqual([
      { ...by, writable: ['docs/**'], hosts: ['a.example'] },
      { by: 'linus', at: 9, writable: ['x/**'], note: 'why' },
    ]);
  });

  it.each([[{ writable: ['../x'] }], [{ writable: ['[a'] }], [{ hosts: ['a b'] }], [{ hosts: ['a.*.example'] }]])(
    '%j cannot be read',
    (more) => {
      expect(() => widenTask(task(), { ...by, ...more })).toThrow(expect.objectContaining({ type: 'invalid_request' }));
    },
  );
});

describe('PO-6: a task that was widened as far as it goes', () => {
  const many = (most: number, name: (n: number) => string) => Array.from({ length: most }, (_, n) => name(n));
  const filled = (field: 'writable' | 'hosts', texts: readonly string[]) => {
    let after = task({ constraints: { writable: [] } });
    for (let at = 0; at < texts.length; at += 20)
      after = widenTask(after, { ...by, [field]: texts.slice(at, at + 20), note: '\u{1F4DD}'.repeat(250) });
    return after;
  };
  const refusal = (run: () => unknown) => {
    try {
      return void run();
    } catch (thrown) {
      return thrown;
    }
  };

  it.each(['writable', 'hosts'] as const)('has no more %s than a trace reads, and says how many', (field) => {
    const { most } = WIDEST[field];
    const full = filled(
      field,
      many(most, (n) => `d${n}.example`),
    );
    expect(refusal(() => widenTask(full, { ...by, [field]: ['more.example'] }))).toMatchObject({
      type: 'invalid_request',
      message: expect.stringContaining(`${most} at most`),
      details: { fields: [{ field: `/${field}` }] },
    });
    expect(widenTask(full, { ...by, [field]: ['d0.example'] })).toBe(full);
    expect(TaskConstraints.safeParse(asWidened(full).constraints).success).toBe(true);
  });

  it('is no record that a store would not take', () => {
    const made = (bytes: number) =>
      task({ testCommand: { argv: Array.from({ length: 31 }, () => 'x'.repeat(bytes)), sha256: 'a'.repeat(64) } });
    expect(widenTask(made(4_000), { ...by, hosts: ['a.example'] }).widened).toHaveLength(1);
    expect(refusal(() => widenTask(made(4_300), { ...by, hosts: ['a.example'] }))).toMatchObject({
      type: 'invalid_request',
      message: expect.stringContaining(`${WIDEST_RECORD} bytes`),
    });
  });

  it.each([
    ['writable', (n: number) => `${'"ä\u20AC"'.repeat(20)}${n}`],
    ['hosts', (n: number) => `${'a'.repeat(60)}.${'b'.repeat(60)}.${'c'.repeat(60)}${n}.example`],
  ] as const)('has no more bytes of %s than a message carries beside arguments', (field, name) => {
    const { most, bytes } = WIDEST[field];
    const each = Buffer.byteLength(JSON.stringify(JSON.stringify([name(10)])));
    const fitting = Math.floor(bytes / each);
    expect(fitting).toBeLessThan(most - 5);
    const full = filled(field, many(fitting, name));
    expect(refusal(() => widenTask(full, { ...by, [field]: many(5, (n) => name(100 + n)) }))).toMatchObject({
      type: 'invalid_request',
      message: expect.stringContaining(`${bytes} bytes`),
    });
    expect(permittedHosts(full)).toHaveLength(field === 'hosts' ? fitting : 0);
  });
});
