import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { analyseShell } from './analyse-shell.ts';

const PAGE = readFileSync(fileURLToPath(new URL('../../../docs/shell.md', import.meta.url)), 'utf8');

const linesOf = (verdict: string): string[] => {
  const [, body = ''] = new RegExp(`^\`\`\`${verdict}\\n(.*?)^\`\`\`$`, 'ms').exec(PAGE) ?? [];
  return body.split('\n').filter((line) => line !== '');
};

describe('CL-3: docs/shell.md says what is so', () => {
  it.each(linesOf('run'))('runs: %s', (line) => {
    expect(analyseShell(line)).toMatchObject({ verdict: 'run' });
  });

  it.each(linesOf('ask'))('asks: %s', (line) => {
    const [, node = '', text = ''] = /^(\w+): (.*)$/.exec(line) ?? [];
    expect(analyseShell(text)).toMatchObject({ verdict: 'ask', node });
  });

  it.each(linesOf('deny'))('denies: %j', (line) => {
    expect(analyseShell(line)).toMatchObject({ verdict: 'deny' });
  });

  it('has lists', () => {
    expect(linesOf('run').length).toBeGreaterThan(4);
    expect(linesOf('ask').length).toBeGreaterThan(40);
    expect(linesOf('deny').length).toBeGreaterThan(5);
  });
});
