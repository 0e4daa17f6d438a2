import { describe, expect, it } from 'vitest';
import { replaceNumbers } from './markdown.ts';

const page = (numbers: string) =>
  `# Title\n<!-- numbers of one run: written by the benchmark -->\n\n${numbers}\n\n<!-- end of the numbers -->\nrest\n`;

describe('replaceNumbers', () => {
  it('changes what stands between the marks and nothing else', () => {
    expect(replaceNumbers(page('old'), 'new')).toBe(page('new'));
  });

  it('refuses a document without the marks', () => {
    expect(() => replaceNumbers('# Title', 'new')).toThrow('no place');
  });
});
