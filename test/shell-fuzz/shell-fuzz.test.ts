import { analyseShell } from '@toolfabric/shell-analysis';
import { describe, expect, it } from 'vitest';
import { CORPUS } from './corpus.ts';
import { FOUND } from './found.ts';
import { compare, texts } from './fuzz.ts';
import { Oracle } from './oracle.ts';

/** What continuous integration has time for; `main.ts` takes as many as one likes. */
const STRINGS = 3_000;
const SEED = 1;

describe('CL-3: what runs without a shell is what bash would have done', () => {
  it('the oracle tells two texts apart', async () => {
    const oracle = new Oracle(['ls', 'cat', 'false']);
    const planOf = (text: string) => {
      const said = analyseShell(text);
      return said.verdict === 'run' ? said.pipelines : [];
    };
    const pairs: [string, string][] = [
      ['ls a', 'ls a'],
      ['ls a', 'ls b'],
      ['ls "a b"', 'ls a b'],
      ['ls > a', 'ls >> a'],
      ['ls 2>&1 > c', 'ls > c 2>&1'],
      ['false && ls', 'false || ls'],
      ['ls | cat', 'ls; cat'],
      ['CI=1 ls', 'CI=2 ls'],
      ['ls; false', 'ls'],
      ['ls < a', 'ls < b'],
      ['ls $(cat)', 'ls'],
      ['ls | cat && false || ls < a', 'ls | cat && false || ls < a'],
    ];
    const agreed = await oracle.agree(pairs.map(([text, other]) => ({ text, pipelines: planOf(other) })));
    oracle.close();
    expect(pairs.filter((_, at) => agreed[at]).map(([text]) => text)).toEqual(['ls a', 'ls | cat && false || ls < a']);
  });

  it('texts of every day, and those that were once understood differently', async () => {
    const { unsound, run } = await compare([...CORPUS, ...FOUND]);
    expect(unsound).toEqual([]);
    expect(run).toBeGreaterThan(20);
  });

  it(`${STRINGS} texts out of a grammar and of mutations: none is unsound`, { timeout: 600_000 }, async () => {
    const { unsound, ...counted } = await compare(texts(SEED, STRINGS));
    console.info(`shell fuzz: ${JSON.stringify({ ...counted, unsound: unsound.length, seed: SEED })}`);
    expect(unsound).toEqual([]);
    expect(counted.strings).toBe(STRINGS);
    // A fuzz whose texts are all asked about would prove nothing.
    expect(counted.run).toBeGreaterThan(STRINGS / 3);
  });
});
