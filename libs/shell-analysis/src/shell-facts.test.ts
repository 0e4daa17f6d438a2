import { describe, expect, it } from 'vitest';
import { analyseShell } from './analyse-shell.ts';

describe('RS-5: what is said of a text', () => {
  it.each(['%', './%', '%=1 ls', 'ls --%', 'cat a > /%', 'tee %'])(
    'quotes a word of %s whole or not at all',
    (text) => {
      const why = (word: string) => {
        const said = analyseShell(text.replace('%', word));
        return said.verdict === 'ask' ? said.why : said.verdict;
      };
      for (const length of [30, 75, 81, 200, 4_000]) {
        const word = `k${'0123456789'.repeat(length / 10)}`;
        const quoted = why(word);
        if (!quoted.includes(word)) expect(quoted).not.toMatch(/\d{6}/);
      }
      expect(why('k'.repeat(90)).length).toBeLessThan(120);
    },
  );
});

describe('PO-9: programs and written paths for the policy', () => {
  const facts = (text: string, cwd = '.') => {
    const said = analyseShell(text, { cwd });
    return said.verdict === 'run' ? said.facts : said;
  };

  it.each([
    ['ls | sort', [], ['ls', 'sort']],
    ['echo a > x; echo b >> d/y 2>/dev/null', ['d/y', 'x'], ['echo']],
    ['cp a b c d', ['d'], ['cp']],
    ['cp --target-dir=d a b', ['d'], ['cp']],
    ['mv a b', ['a', 'b'], ['mv']],
    ['mkdir -p a/b/ ./c', ['a/b', 'c'], ['mkdir']],
    ['rm -rf -- -x', ['-x'], ['rm']],
    ['chmod a+x s', ['s'], ['chmod']],
    ['touch /tmp/x a/../b', ['b'], ['touch']],
    ['rm -r /workspace/a', ['a'], ['rm']],
    ['rm -r //workspace/./a/', ['a'], ['rm']],
    ['rm -r /proc/self/cwd/a', ['.'], ['rm']],
    ['rm -r ../a', ['.'], ['rm']],
    ['rm -r /workspace', ['.'], ['rm']],
    ['node x.mjs', ['.'], ['node']],
    ['make -j2 all | tail -5', ['.'], ['make', 'tail']],
  ])('%j', (text, writes, programs) => {
    expect(facts(text)).toEqual({ programs, writes });
  });

  it('reads paths from the directory that the text runs in', () => {
    expect(facts('echo a > ../x; rm y', 'd/e')).toEqual({ programs: ['echo', 'rm'], writes: ['d/e/y', 'd/x'] });
    expect(facts('echo a > ../../../x', 'd/e')).toMatchObject({ verdict: 'ask', node: 'Redirect' });
  });
});
