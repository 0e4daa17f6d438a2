import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { readSources } from './boundaries/workspace.ts';
import { citedIds } from './requirements/cited-ids.ts';
import { REQUIREMENTS, type Requirement, type State } from './requirements.ts';

/** How many rows each family has. */
const FAMILIES = {
  FD: 9,
  RG: 8,
  RT: 10,
  RS: 6,
  PO: 11,
  RE: 6,
  CL: 6,
  BR: 9,
  SB: 8,
  MC: 7,
  WB: 4,
  TR: 6,
  OP: 6,
};
const EXPECTED = Object.entries(FAMILIES).flatMap(([family, count]) =>
  Array.from({ length: count }, (_, index) => `${family}-${index + 1}`),
);

/** What is wrong with the claims, each with what to do. */
const complaints = (rows: readonly Requirement[], cited: ReadonlyMap<string, readonly string[]>): string[] => {
  const known = new Set(rows.map(({ id }) => id));
  const unknown = [...cited]
    .filter(([id]) => !known.has(id))
    .map(([id, files]) => `${files.join(', ')} cites ${id}, which is no requirement: correct the id`);
  const unproven = rows
    .filter(({ id, state }) => state !== 'open' && !cited.has(id))
    .map(
      ({ id }) =>
        `${id} is claimed and no test cites it: cite it in the name of the test that shows it, or set it to open`,
    );
  const vague = rows
    .filter(({ state }) => typeof state === 'object' && state.partial.trim() === '')
    .map(({ id }) => `${id} is partial: name the missing clause`);
  return [...unknown, ...unproven, ...vague];
};

describe('the requirements', () => {
  it('are each listed once, all of them, in order', () => {
    expect(REQUIREMENTS.map(({ id }) => id)).toEqual(EXPECTED);
  });

  it('are claimed only where a test cites them, and no test cites another', () => {
    const sources = readSources(fileURLToPath(new URL('..', import.meta.url)));
    expect(complaints(REQUIREMENTS, citedIds(sources, Object.keys(FAMILIES)))).toEqual([]);
  });
});

describe('a false claim is found', () => {
  const rowOf = (id: string, state: State): Requirement => ({ id, text: '', state });
  const sample = (title: string) => [{ path: 'libs/a/src/a.test.ts', text: title }];
  const cited = (title: string) => citedIds(sample(title), ['OP', 'RE']);
  const title = (id: string) => `it('${id}: holds', () => {});`;
  const OP1 = ['OP', '1'].join('-');

  it.each([
    [rowOf(OP1, 'met'), 'set it to open'],
    [rowOf(OP1, { partial: 'on Kubernetes' }), 'set it to open'],
  ])('without a citing test: %j', (claim, advice) => {
    expect(complaints([claim], cited('it("x", () => {})'))).toEqual([expect.stringContaining(advice)]);
    expect(complaints([claim], cited(`// ${title(OP1)}`))).toEqual([expect.stringContaining(advice)]);
    expect(complaints([claim], cited(title(OP1)))).toEqual([]);
  });

  it('without naming what is missing', () => {
    expect(complaints([rowOf(OP1, { partial: ' ' })], cited(title(OP1)))).toEqual([
      expect.stringContaining('name the missing clause'),
    ]);
  });

  it('by an id that is no requirement', () => {
    expect(complaints([rowOf(OP1, 'open')], cited(title(['RE', '77'].join('-'))))).toEqual([
      expect.stringContaining('correct the id'),
    ]);
  });
});
