import { CallId, RING_SLOTS, Token } from '@toolfabric/contract';
import { shardOf } from '@toolfabric/kernel';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  approvalKey,
  callKey,
  callToken,
  claimKey,
  leaseKey,
  lifeKey,
  lifePrefix,
  openKey,
  openPrefix,
  operationKeyOf,
  parseProbeCallId,
  probeCallId,
  taskKey,
  toolKey,
  workMessageId,
  workSubject,
} from './keys.ts';
import { CALL_ID } from './testing/samples.ts';

const PROBE = `${CALL_ID}.r12`;
const callId = fc
  .tuple(fc.integer({ min: 1000, max: 99_999 }), fc.stringMatching(/^[0-9a-hjkmnp-tv-z]{26}$/))
  .map(([week, hash]) => `${week}-${hash}`);

describe('keys', () => {
  it('name what they are for, in the slot or shard of the call', () => {
    expect(callKey('acme', CALL_ID)).toBe(`call.1.acme.${CALL_ID}`);
    expect(claimKey('cli', 'acme', CALL_ID)).toBe(`claim.cli.1.acme.${CALL_ID}`);
    expect(openKey('acme', CALL_ID)).toBe(`open.${shardOf(CALL_ID)}.acme.${CALL_ID}`);
    expect(openKey('acme', CALL_ID).startsWith(`${openPrefix(shardOf(CALL_ID))}.`)).toBe(true);
    expect(approvalKey('acme', 'a-1')).toBe('approval.acme.a-1');
    expect(taskKey('acme', 't-1')).toBe('task.acme.t-1');
    expect(leaseKey(15)).toBe('shard.15');
    expect(lifeKey('cli', 'cli-1')).toBe(`${lifePrefix('cli')}.cli-1`);
    expect(workSubject('cli', 'lo', 'acme')).toBe('work.cli.lo.acme');
    expect(workMessageId(CALL_ID, 3)).toBe(`${CALL_ID}.3`);
  });

  it('of the same week share a slot, and those of the next eight weeks have all of them', () => {
    const slots = Array.from({ length: 8 }, (_, n) => callKey('acme', `${2969 + n}-${'a'.repeat(26)}`).split('.')[1]);
    expect(new Set(slots).size).toBe(RING_SLOTS);
    expect(callKey('acme', `2969-${'b'.repeat(26)}`).split('.')[1]).toBe(slots[0]);
  });

  it("a probe's dot never splits a token", () => {
    expect(callToken(PROBE)).toBe(`${CALL_ID}_r12`);
    for (const key of [callKey('acme', PROBE), claimKey('cli', 'acme', PROBE), openKey('acme', PROBE)])
      expect(key.endsWith(`.acme.${CALL_ID}_r12`)).toBe(true);
  });

  it('RE-1: an operation is the same by scope, account and key together, and by nothing less', () => {
    const key = operationKeyOf('notes.add', 'acme/ada', 'order-1');
    expect(key).toMatch(/^op\.[0-9a-z]{26}$/);
    expect(operationKeyOf('notes.add', 'acme/ada', 'order-1')).toBe(key);
    const others = [
      operationKeyOf('notes.edit', 'acme/ada', 'order-1'),
      operationKeyOf('notes.add', 'acme/bob', 'order-1'),
      operationKeyOf('notes.add', 'rival/ada', 'order-1'),
      operationKeyOf('notes.add', 'acme/ada', 'order-2'),
      operationKeyOf('notes.add', 'acme', '/adaorder-1'),
      operationKeyOf('notes.add', 'order-1', 'acme/ada'),
    ];
    expect(new Set([key, ...others]).size).toBe(7);
  });

  it('RG-3: a tool has one key a version', () => {
    expect(toolKey('a.b', '1.0.0')).toMatch(/^tool\.[0-9a-z]{26}$/);
    expect(new Set([toolKey('a.b', '1.0.0'), toolKey('a.b', '1.0.1'), toolKey('a.c', '1.0.0')]).size).toBe(3);
  });
});

describe('the id of a probe', () => {
  it('RE-2: is a call id, and tells its parent and its number', () => {
    fc.assert(
      fc.property(callId, fc.integer({ min: 1, max: 9_999 }), (parent, n) => {
        const id = probeCallId(parent, n);
        expect(CallId.safeParse(id).success).toBe(true);
        expect(parseProbeCallId(id)).toEqual({ parent, n });
        expect(parseProbeCallId(parent)).toBeUndefined();
        expect(Token.safeParse(callToken(id)).success).toBe(true);
      }),
    );
  });

  it.each(['', '.r1', CALL_ID, `${CALL_ID}.r`, `${CALL_ID}.rx`, `${CALL_ID}.r1 `, `${CALL_ID}_r1`, `${CALL_ID}.R1`])(
    'is not read out of %j',
    (text) => {
      expect(parseProbeCallId(text)).toBeUndefined();
    },
  );
});
