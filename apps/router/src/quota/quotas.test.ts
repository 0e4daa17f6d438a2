import { parseQuotas, type RouterShare } from '@toolfabric/governance';
import type { FabricError } from '@toolfabric/kernel';
import { describe, expect, it } from 'vitest';
import { HandClock } from '../testing/hand-clock.ts';
import { type Leave, Quotas } from './quotas.ts';

const request = { actor: { tenant: 'acme', user: 'ada', agent: 'coder' }, tool: 'notes.find' };

const make = (config: object, share: RouterShare = { routers: 1, rank: 0 }) => {
  const clock = new HandClock();
  const over = new Set<string>();
  const isOver = async (_: string, callId: string) => over.has(callId);
  const quotas = new Quotas({ config: parseQuotas(config), clock, share: () => share, isOver });
  const enter = (callId: string): Leave | string => {
    try {
      return quotas.enter(request, callId);
    } catch (thrown) {
      return (thrown as FabricError).type;
    }
  };
  /** A whole request whose call was accepted. */
  const accept = (callId: string): string => {
    const leave = enter(callId);
    if (typeof leave === 'string') return leave;
    leave(true);
    return 'in';
  };
  return { quotas, clock, over, enter, accept };
};

const queuedAs = (count: number) => async () => new Map([['acme', new Map([['cli', count]])]]);

describe('calls in flight', () => {
  it('RT-6: one after the other never fill a quota that is wider than one', () => {
    const { quotas, accept } = make({ default: { inFlight: 2 } });
    for (let n = 0; n < 500; n += 1) {
      expect(accept(`c${n}`)).toBe('in');
      quotas.over('acme', 'notes.find', `c${n}`);
    }
  });

  it('RT-6: whose end nobody told count until the queues are read, which is then due early', async () => {
    const { quotas, clock, accept } = make({ default: { inFlight: 8 } });
    await quotas.look(queuedAs(0));
    expect(Array.from({ length: 9 }, (_, n) => accept(`c${n}`))).toEqual([...Array(8).fill('in'), 'rate_limited']);
    expect(quotas.isDue()).toBe(false);
    clock.pass(100);
    expect(quotas.isDue()).toBe(true);
    await quotas.look(queuedAs(3));
    expect(Array.from({ length: 6 }, (_, n) => accept(`d${n}`))).toEqual([...Array(5).fill('in'), 'rate_limited']);
  });

  it('a quota with room is looked after each second', async () => {
    const { quotas, clock, accept } = make({ default: { inFlight: 100 } });
    await quotas.look(queuedAs(0));
    accept('c');
    clock.pass(900);
    expect(quotas.isDue()).toBe(false);
    clock.pass(100);
    expect(quotas.isDue()).toBe(true);
  });

  it('let in during a reading count beside it, and a reading that fails forgets nothing', async () => {
    const { quotas, accept } = make({ default: { inFlight: 2 } });
    const read = Promise.withResolvers<Awaited<ReturnType<ReturnType<typeof queuedAs>>>>();
    const looking = quotas.look(() => read.promise);
    expect(accept('a')).toBe('in');
    read.resolve(new Map());
    await looking;
    expect([accept('b'), accept('c')]).toEqual(['in', 'rate_limited']);
    await expect(quotas.look(() => Promise.reject(new Error('away')))).rejects.toThrow('away');
    expect(accept('d')).toBe('rate_limited');
  });

  it('an end that is told before its request is answered counts all the same, and what was refused takes nothing', () => {
    const { quotas, enter, accept } = make({ default: { inFlight: 1, tools: { 'notes.find': { inFlight: 1 } } } });
    const leave = enter('a') as Leave;
    quotas.over('acme', 'notes.find', 'a');
    leave(true);
    (enter('b') as Leave)(false);
    expect([accept('c'), accept('d')]).toEqual(['in', 'rate_limited']);
  });

  it('RT-6: of a tool with a cap of its own: gone when they end, told or read', async () => {
    const { quotas, over, accept } = make({ default: { tools: { 'notes.find': { inFlight: 1 } } } });
    expect([accept('a'), accept('b')]).toEqual(['in', 'rate_limited']);
    quotas.over('acme', 'notes.find', 'a');
    expect([accept('b'), accept('c')]).toEqual(['in', 'rate_limited']);
    await quotas.look(queuedAs(0));
    expect(accept('c')).toBe('rate_limited');
    over.add('b');
    await quotas.look(queuedAs(0));
    expect(accept('c')).toBe('in');
  });
});
