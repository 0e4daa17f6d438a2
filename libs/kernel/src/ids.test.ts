import { type Actor, CallId, CLOCK_LEEWAY_MS, OPEN_SHARDS, RING_SLOTS, TaskId, WEEK_MS } from '@toolfabric/contract';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { base32, callIdFor, randomId, requestKeyTime, shardOf, shortHash, slotOf, taskIdFor, uuidv7 } from './ids.ts';

const NOW = 1_795_780_800_000;
const OLDEST = NOW - (RING_SLOTS - 2) * WEEK_MS;
const actor: Actor = { tenant: 'acme', user: 'ann', agent: 'coder' };
const refused = expect.objectContaining({ type: 'request_key_out_of_range' });
const time = fc.integer({ min: OLDEST, max: NOW + CLOCK_LEEWAY_MS });

describe('request keys', () => {
  it('carry their time, whatever it is', () => {
    fc.assert(fc.property(time, (at) => void expect(requestKeyTime(uuidv7(at), NOW)).toBe(at)));
  });

  it('are UUIDs of version 7, and no two are equal', () => {
    const keys = Array.from({ length: 1000 }, () => uuidv7(NOW));
    for (const key of keys)
      expect(key).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
    expect(new Set(keys).size).toBe(1000);
  });

  it('are accepted up to the leeway ahead and the retention behind, and not a millisecond more', () => {
    expect(requestKeyTime(uuidv7(NOW + CLOCK_LEEWAY_MS), NOW)).toBe(NOW + CLOCK_LEEWAY_MS);
    expect(requestKeyTime(uuidv7(OLDEST), NOW)).toBe(OLDEST);
    expect(() => requestKeyTime(uuidv7(NOW + CLOCK_LEEWAY_MS + 1), NOW)).toThrow(refused);
    expect(() => requestKeyTime(uuidv7(OLDEST - 1), NOW)).toThrow(refused);
    expect(() => requestKeyTime(uuidv7(0), NOW)).toThrow(refused);
    expect(() => requestKeyTime(uuidv7(2 ** 48 - 1), NOW)).toThrow(refused);
  });

  it.each([
    '',
    'not a key',
    '019e0000-0000-7000-8000-00000000000',
    '019e0000-0000-7000-8000-0000000000000',
    '019e0000-0000-4000-8000-000000000000',
    '019e0000-0000-7000-c000-000000000000',
    '019E0000-0000-7000-8000-000000000000',
    '019e000000007000800000000000000000',
    '019e0000-0000-7000-8000-000000000000\n',
    ' 019e0000-0000-7000-8000-000000000000',
    '{019e0000-0000-7000-8000-000000000000}',
    '٠19e0000-0000-7000-8000-000000000000',
  ])('%j is none', (key) => expect(() => requestKeyTime(key, NOW)).toThrow(refused));

  it('RE-1: of any other text none is one, and the refusal is typed', () => {
    fc.assert(fc.property(fc.string(), (text) => void expect(() => requestKeyTime(text, NOW)).toThrow(refused)));
    const v4 = fc.uuid({ version: [1, 2, 3, 4, 5, 6, 8] });
    fc.assert(fc.property(v4, (text) => void expect(() => requestKeyTime(text, NOW)).toThrow(refused)));
  });
});

describe('call ids', () => {
  it('RE-1: a retry finds the same call, and nobody else does', () => {
    const name = fc.string({ minLength: 1, maxLength: 8 });
    const who = fc.record({ tenant: name, user: name, agent: name });
    fc.assert(
      fc.property(who, who, time, (one, other, at) => {
        const key = uuidv7(at);
        const id = callIdFor(one, key, NOW);
        expect(callIdFor({ ...one }, key, Math.max(NOW - 1000, at))).toBe(id);
        const isSame = one.tenant === other.tenant && one.user === other.user && one.agent === other.agent;
        expect(callIdFor(other, key, NOW) === id).toBe(isSame);
        expect(callIdFor(one, uuidv7(at), NOW)).not.toBe(id);
      }),
    );
  });

  it('cannot be made equal by moving text between the parts of an identity', () => {
    const key = uuidv7(NOW);
    const ids = [
      ['a', 'b', 'c'],
      ['ab', '', 'c'],
      ['a', 'bc', ''],
      ['a","b', '', 'c'],
    ].map(([tenant = '', user = '', agent = '']) => callIdFor({ tenant, user, agent }, key, NOW));
    expect(new Set(ids).size).toBe(4);
  });

  it('have their form, carry the week of the key, and name a slot and a shard', () => {
    const slots = new Set<number>();
    const shards = new Set<number>();
    fc.assert(
      fc.property(time, (at) => {
        const id = callIdFor(actor, uuidv7(at), NOW);
        expect(CallId.safeParse(id).success).toBe(true);
        expect(slotOf(id)).toBe(Math.floor(at / WEEK_MS) % RING_SLOTS);
        expect(slotOf(`${id}.r3`)).toBe(slotOf(id));
        slots.add(slotOf(id));
        shards.add(shardOf(id));
      }),
      { numRuns: 500 },
    );
    expect(Math.max(...shards)).toBeLessThan(OPEN_SHARDS);
    expect(shards.size).toBe(OPEN_SHARDS);
    // The oldest accepted week and the one that comes next never share a slot.
    expect(slots.size).toBeLessThan(RING_SLOTS);
  });

  it('a task id differs from a call id of the same key', () => {
    const key = uuidv7(NOW);
    const id = taskIdFor(actor, key, NOW);
    expect(TaskId.safeParse(id).success).toBe(true);
    expect(id).not.toContain(callIdFor(actor, key, NOW).split('-')[1]);
    expect(() => taskIdFor(actor, 'x', NOW)).toThrow(refused);
  });

  it('no week that is kept shares its slot with another, for any moment', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1_700_000_000_000, max: 4_000_000_000_000 }), (now) => {
        const weeks: number[] = [];
        const last = Math.floor((now + CLOCK_LEEWAY_MS) / WEEK_MS);
        for (let week = Math.floor((now - (RING_SLOTS - 2) * WEEK_MS) / WEEK_MS); week <= last; week += 1)
          weeks.push(week);
        expect(new Set(weeks.map((week) => week % RING_SLOTS)).size).toBe(weeks.length);
      }),
    );
  });
});

describe('short texts', () => {
  it('base32 is Crockford in lower case, and tells all bytes apart', () => {
    expect(base32(new Uint8Array([]))).toBe('');
    expect(base32(new Uint8Array([0xff]))).toBe('zw');
    expect(base32(new TextEncoder().encode('foobar'))).toBe('csqpyrk1e8');
    const bytes = fc.uint8Array({ minLength: 16, maxLength: 16 });
    fc.assert(
      fc.property(bytes, bytes, (a, b) => {
        expect(base32(a)).toMatch(/^[0-9a-hjkmnp-tv-z]{26}$/);
        expect(base32(a) === base32(b)).toBe(Buffer.compare(a, b) === 0);
      }),
    );
  });

  it('hashes and random ids are 26 characters that a subject may hold', () => {
    expect(shortHash('a', { b: 1 })).toMatch(/^[0-9a-hjkmnp-tv-z]{26}$/);
    expect(shortHash('a', { c: 2, b: 1 })).toBe(shortHash('a', { b: 1, c: 2 }));
    expect(shortHash('ab')).not.toBe(shortHash('a', 'b'));
    const ids = new Set(Array.from({ length: 500 }, randomId));
    expect(ids.size).toBe(500);
    for (const id of ids) expect(id).toMatch(/^[0-9a-hjkmnp-tv-z]{26}$/);
  });
});
