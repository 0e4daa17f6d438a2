import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { unifiedDiff } from './unified-diff.ts';

const base = mkdtempSync(join(tmpdir(), 'diff-'));
afterAll(() => rmSync(base, { recursive: true }));

/** What git makes out of the diff: the real test of a real diff. */
const applied = (path: string, before: string | undefined, diff: string): string => {
  const directory = mkdtempSync(join(base, 'case-'));
  execFileSync('git', ['init', '-q'], { cwd: directory });
  mkdirSync(dirname(join(directory, path)), { recursive: true });
  if (before !== undefined) writeFileSync(join(directory, path), before);
  execFileSync('git', ['apply', '--whitespace=nowarn'], { cwd: directory, input: diff });
  return readFileSync(join(directory, path), 'utf8');
};

const numbered = (count: number, change: (i: number) => string): string =>
  Array.from({ length: count }, (_, i) => change(i)).join('');

const CASES: readonly [string, string, string | undefined, string][] = [
  ['one line', 'a.txt', 'a\nb\nc\n', 'a\nB\nc\n'],
  ['no final newline', 'src/a.txt', 'a\nb', 'a\nc'],
  ['a final newline that goes', 'a.txt', 'a\n', 'a'],
  ['CRLF', 'a.txt', 'a\r\nb\r\n', 'a\r\nc\r\n'],
  ['a new file', 'new.txt', undefined, 'x\ny\n'],
  ['a file that becomes full', 'a.txt', '', 'x\n'],
  ['a removed line of dashes', 'a.sql', 'x\n-- old\ny\n', 'x\ny\n'],
  ['a name with a blank and quotes', 'a "b" c.txt', 'a\n', 'b\n'],
  ['a name with a line end', 'a\nb.txt', 'a\n', 'b\n'],
  ['many changes', 'big.txt', numbered(400, (i) => `l${i}\n`), numbered(400, (i) => (i % 3 ? `l${i}\n` : `n${i}\n`))],
];

describe('unified diff', () => {
  it.each(CASES)('RS-2: git applies it without time for the smallest one: %s', (_, path, before, after) => {
    const diff = unifiedDiff({ path, before, after, timeoutMs: 0 });
    expect(applied(path, before, diff)).toBe(after);
  });

  it.each(CASES)('RS-2: git applies it: %s', (_, path, before, after) => {
    const diff = unifiedDiff({ path, before, after });
    expect(applied(path, before, diff)).toBe(after);
  });

  it('RS-2: a diff that would take too long becomes a coarse one, which git applies too', () => {
    const before = numbered(60_000, (i) => `x${i % 7}\n`);
    const after = before.replaceAll('x3', 'y3z').replaceAll('x1', 'q');
    const diff = unifiedDiff({ path: 'big.txt', before, after });
    expect(applied('big.txt', before, diff)).toBe(after);
  });
});
