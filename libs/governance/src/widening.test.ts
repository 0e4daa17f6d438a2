import type { TaskRecord } from '@toolfabric/contract';
import { describe, expect, it } from 'vitest';
import { asWidened, isPermittedHost, objectionToWiden, widenTask } from './widening.ts';

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

  it.each([[{ writable: ['../x'] }], [{ writable: ['[a'] }], [{ hosts: ['a b'] }], [{ hosts: ['a.*.example'] }]])(
    '%j cannot be read',
    (more) => {
      expect(() => widenTask(task(), { ...by, ...more })).toThrow(expect.objectContaining({ type: 'invalid_request' }));
    },
  );
});
