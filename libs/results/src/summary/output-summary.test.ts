import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { countNewlines } from './count-newlines.ts';
import { OutputSummary, type Summary, type SummaryOptions } from './output-summary.ts';

const SIZES: SummaryOptions = { headBytes: 120, tailBytes: 120, keyBytes: 200 };

const inChunks = (bytes: Uint8Array, cuts: readonly number[], options = SIZES): Summary => {
  const summary = new OutputSummary(options);
  let from = 0;
  for (const cut of [...cuts].sort((a, b) => a - b)) {
    summary.push(bytes.subarray(from, cut));
    from = cut;
  }
  summary.push(bytes.subarray(from));
  return summary.end();
};
const of = (text: string | Uint8Array, options = SIZES): Summary => inChunks(Buffer.from(text), [], options);
const numbered = (count: number): string => Array.from({ length: count }, (_, at) => `line ${at + 1}\n`).join('');

const outputs = fc
  .array(
    fc
      .oneof(
        fc.constantFrom(
          '\n',
          '\r\n',
          'error: bad\n',
          'src/a.ts:3:4\n',
          '\x1b[1;31m',
          '\x1b[0m',
          '\x1b]8;;http://x\x07',
          '\x1b[',
          '\x1b',
        ),
        fc.constantFrom('密码', '🔑', 'é', '\u202e', '0 errors\n', 'FAIL x\n', 'plain words and more of them '),
        fc.string({ unit: 'binary', maxLength: 30 }),
      )
      .map((text) => Buffer.from(text)),
    { maxLength: 60 },
  )
  .chain((parts) =>
    fc.uint8Array({ maxLength: 8 }).map((noise) => Buffer.concat([...parts, noise, ...parts.slice(0, 9)])),
  );

describe('a summary of output', () => {
  it('RS-3: shows short output whole', () => {
    expect(of('one\ntwo\n')).toMatchObject({ text: 'one\ntwo\n', kept: 8, total: 8, lines: 2, keyMatches: [] });
    expect(of('one\ntwo\n')).not.toHaveProperty('truncation');
    expect(of('')).toMatchObject({ text: '', kept: 0, total: 0, lines: 0, binary: false });
    expect(of('no newline').lines).toBe(1);
  });

  it('RS-3: shows head and tail in whole lines and states what is left out', () => {
    const summary = of(numbered(1000), { ...SIZES, stream: 'stdout' });
    expect(summary.text).toMatch(/^line 1\n/);
    expect(summary.text).toMatch(/\nline 999\nline 1000\n$/);
    expect(summary.text).toMatch(/\n\[… 8,\d{3} bytes left out …\]\n/);
    for (const line of summary.text.split('\n').filter((text) => text.startsWith('line')))
      expect(line).toMatch(/^line \d+$/);
    const { kept, total } = summary;
    expect(summary.truncation).toEqual({ stream: 'stdout', kept, total, unit: 'bytes' });
    const shown = summary.text.replace(/\[… [^\]]*\]\n/, '');
    expect(kept).toBe(Buffer.byteLength(shown));
  });

  it('RS-3: keeps the lines that stand out from between, with their numbers', () => {
    const lines = numbered(1000).split('\n');
    lines[400] = '\x1b[31mError\x1b[0m: it broke';
    lines[401] = '    at run (src/deep/file.ts:12:7)';
    lines[500] = 'checked: 0 errors';
    lines[600] = 'panic: at once';
    lines[601] = 'the errorHandler ran';
    lines[602] = 'TypeError: x is not a function';
    const summary = of(lines.join('\n'));
    expect(summary.keyMatches).toEqual([
      { line: 401, text: 'Error: it broke' },
      { line: 402, text: '    at run (src/deep/file.ts:12:7)' },
      { line: 601, text: 'panic: at once' },
      { line: 603, text: 'TypeError: x is not a function' },
    ]);
    expect(summary.text).toContain('\n401: Error: it broke\n402:     at run');
  });

  it('keeps first and last of many lines that stand out', () => {
    const lines = Array.from({ length: 5000 }, (_, at) => `error ${at + 1}`).join('\n');
    const { keyMatches } = of(lines, { headBytes: 500, tailBytes: 500, keyLines: 9, keyBytes: 1000 });
    expect(keyMatches).toHaveLength(9);
    expect(keyMatches[0]?.line).toBeLessThan(60);
    expect(keyMatches.at(-1)?.line).toBeGreaterThan(4800);
  });

  it('takes escape sequences out and shows control characters', () => {
    expect(of('a\x1b[1;32mb\x1b[0m\x07\b\x00c\rd\r\ne\u202ef\u{e0041}\x7f\n').text).toBe(
      'ab\\x07\\x08\\x00c\\rd\ne\\u202ef\\u{e0041}\\x7f\n',
    );
    expect(of('a\x1b[1mb').ansiStripped).toBe(true);
    expect(of('a\x1b]0;title\x07b\x1b]8;;http://x\x1b\\c\x1bPq#1\x1b\\d\x1b(Be').text).toBe('abcde');
  });

  it('an escape sequence that does not end hides one line at most', () => {
    expect(of('a\x1b]0;never ends\nshown\n').text).toBe('a\nshown\n');
    expect(of(`a\x1b[${'1;'.repeat(400)}shown`).text).toContain('shown');
  });

  it('RS-3: replaces invalid UTF-8 and says so', () => {
    const summary = of(
      Buffer.concat([Buffer.from('ok \xe4', 'latin1'), Buffer.from(' and more text so that it is no binary\n')]),
    );
    expect(summary).toMatchObject({
      text: 'ok \ufffd and more text so that it is no binary\n',
      invalidUtf8: true,
      binary: false,
    });
    expect(of('ü\ufffd').invalidUtf8).toBe(false);
    expect(of(`x${'密'.repeat(100_000)}`).invalidUtf8).toBe(false);
    expect(of(Buffer.concat([Buffer.from('cut off: '), Buffer.from([0xe5, 0xaf])])).invalidUtf8).toBe(true);
  });

  it.each([
    ['a picture', Buffer.concat([Buffer.from('89504e470d0a1a0a', 'hex'), Buffer.alloc(5000, 3)]), 'image/png'],
    ['zeros', Buffer.alloc(5000), undefined],
    ['random bytes', Buffer.from(Array.from({ length: 5000 }, (_, at) => (at * 7919) % 256)), undefined],
  ])('RS-3: says that %s is no text', (_, bytes, mediaType) => {
    const summary = of(bytes);
    expect(summary).toMatchObject({ binary: true, kept: 0, total: bytes.length });
    expect(summary.mediaType).toBe(mediaType);
    expect(summary.text).toMatch(/^\[5,0\d\d bytes of binary data/);
  });

  it('the text stays within its budget, whatever comes', () => {
    fc.assert(
      fc.property(outputs, (bytes) => {
        const { text, kept, total } = of(bytes);
        expect(Buffer.byteLength(text)).toBeLessThanOrEqual(120 + 120 + 200 + 200);
        expect(text.isWellFormed()).toBe(true);
        // biome-ignore lint/suspicious/noControlCharactersInRegex: none of these may be left.
        expect(text).not.toMatch(/[\x00-\x08\x0b-\x1f\x7f\u202e]/);
        expect(kept).toBeLessThanOrEqual(total);
        expect(total).toBe(bytes.length);
      }),
      { numRuns: 300 },
    );
  });

  it('RS-3: chunks never change the result', () => {
    fc.assert(
      fc.property(outputs, fc.array(fc.nat(1000), { maxLength: 8 }), (bytes, cuts) => {
        expect(
          inChunks(
            bytes,
            cuts.map((cut) => cut % (bytes.length + 1)),
          ),
        ).toEqual(of(bytes));
      }),
      { numRuns: 400 },
    );
  });

  it('characters and escape sequences may be cut at every byte, at head, tail and in long output', () => {
    const mixed = Buffer.from('密\x1b[38;5;196m码🔑é\x1b]8;;http://x/y\x07error\x1b[0m\n'.repeat(400));
    for (const bytes of [mixed.subarray(0, 230), mixed]) {
      const whole = of(bytes);
      for (let cut = 0; cut <= Math.min(bytes.length, 300); cut += 1) expect(inChunks(bytes, [cut])).toEqual(whole);
      for (let cut = Math.max(0, bytes.length - 150); cut <= bytes.length; cut += 1)
        expect(inChunks(bytes, [cut])).toEqual(whole);
    }
    expect(of(mixed).text).not.toContain('\ufffd');
  });

  it('a tail never begins inside of a character or an escape sequence', () => {
    for (let lead = 0; lead < 30; lead += 1) {
      const line = `${'x'.repeat(lead)}${'密\x1b[38;5;196m\x1b[1;2;3;4;5;6;7m🔑\x1b[0m'.repeat(9000)}`;
      const { text } = of(line, { headBytes: 64, tailBytes: 16_384 });
      expect(text.replace(/^x*/, '').replace(/\n\[… [^\]]*\]\n/, '')).toMatch(/^(?:密|🔑)*$/u);
    }
  });

  it('lines are counted rightly at every offset of the memory', () => {
    const memory = Buffer.alloc(4096, 97);
    for (let at = 0; at < memory.length; at += 7) memory[at] = 10;
    for (let from = 0; from < 9; from += 1)
      for (let to = 3000; to < 3009; to += 1) {
        const slow = memory.subarray(from, to).filter((byte) => byte === 10).length;
        expect(countNewlines(memory, from, to)).toBe(slow);
      }
    expect(countNewlines(Buffer.alloc(5000, 10), 0, 5000)).toBe(5000);
  });

  it('a line of 100 MB takes bounded memory and is counted as one', () => {
    const chunk = Buffer.from('no newline error '.repeat(60_000));
    const summary = new OutputSummary({ headBytes: 8192, tailBytes: 8192 });
    const before = process.memoryUsage().rss;
    let most = 0;
    for (let sent = 0; sent < 100_000_000; sent += chunk.length) {
      summary.push(chunk);
      most = Math.max(most, process.memoryUsage().rss - before);
    }
    const { lines, keyMatches, text } = summary.end();
    expect(lines).toBe(1);
    expect(keyMatches.length).toBeGreaterThan(0);
    for (const { line } of keyMatches) expect(line).toBe(1);
    expect(Buffer.byteLength(text)).toBeLessThan(8192 * 2 + 4300);
    expect(most).toBeLessThan(150_000_000);
  });
});
