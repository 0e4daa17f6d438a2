import type { FabricEvent } from '@toolfabric/contract';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { laterEvents } from './later-events.ts';
import { EventList } from './testing/event-list.ts';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

const event = (id: string): FabricEvent => ({
  id,
  type: 'call.accepted',
  service: 'router',
  tenant: 'acme',
  at: 1,
  attributes: {},
});
const idsOf = ({ events }: EventList) => events.map(({ id }) => id);

describe('events that may wait', () => {
  it('go out together and in order, a tenth of a second after the first', () => {
    const list = new EventList();
    const later = laterEvents(list);
    later.emit(event('a'));
    vi.advanceTimersByTime(60);
    later.emit(event('b'));
    vi.advanceTimersByTime(39);
    expect(idsOf(list)).toEqual([]);
    vi.advanceTimersByTime(1);
    expect(idsOf(list)).toEqual(['a', 'b']);
    later.emit(event('c'));
    vi.advanceTimersByTime(100);
    expect(idsOf(list)).toEqual(['a', 'b', 'c']);
  });

  it('are never more than 256, and none is lost to that', () => {
    const list = new EventList();
    const later = laterEvents(list);
    for (let n = 0; n < 600; n += 1) later.emit(event(`e${n}`));
    expect(list.events).toHaveLength(512);
    vi.advanceTimersByTime(100);
    expect(idsOf(list)).toEqual(Array.from({ length: 600 }, (_, n) => `e${n}`));
  });

  it('what is to be stored does not wait', async () => {
    const list = new EventList();
    const later = laterEvents(list);
    later.emit(event('a'));
    await later.store(event('b'));
    expect(idsOf(list)).toEqual(['b']);
  });

  it('at the end all go out, and none waits any more', () => {
    const list = new EventList();
    const later = laterEvents(list);
    later.emit(event('a'));
    later.close();
    later.emit(event('b'));
    later.close();
    expect(idsOf(list)).toEqual(['a', 'b']);
    expect(vi.getTimerCount()).toBe(0);
  });
});
