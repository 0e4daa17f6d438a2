import { describe, expect, it } from 'vitest';
import { moveHome } from './home.ts';

const a = { kind: 'cli', slot: 'p0', incarnation: 'cli-a' };
const b = { kind: 'cli', slot: 'p1', incarnation: 'cli-b' };
const other = { kind: 'cli-trusted', slot: 'p0', incarnation: 'cli-trusted-c' };

describe('the home of a workspace', () => {
  it.each([
    ['none before: whoever ran', undefined, a, false, a],
    ['the same worker', a, a, true, undefined],
    ['another worker of the kind, the first one alive', a, b, true, b],
    ['another worker of the kind, the first one dead', a, b, false, b],
    ['the same worker in another slot', a, { ...a, slot: 'p4' }, true, { ...a, slot: 'p4' }],
    ['a worker of another kind, the home alive', a, other, true, undefined],
    ['a worker of another kind, the home dead', a, other, false, other],
  ])('RT-10: %s', (_, present, ran, alive, wanted) => {
    expect(moveHome(present, ran, alive)).toEqual(wanted);
  });
});
