import { parseContract } from '@toolfabric/catalogue';
import { MAX_PREVIEW } from '@toolfabric/contract';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type Hide, type PreviewInput, renderPreview } from './render-preview.ts';
import { behindBars, onOneLine } from './show-plainly.ts';

const contract = (preview?: string) =>
  parseContract({
    name: 'issue.comment',
    version: '1.0.0',
    toolset: 'issue',
    capability: {
      intent: 'issue.comment',
      description: 'Writes a comment below an issue of the tracker of a repository.',
      use_when: ['Somebody should read it there.'],
      not_for: ['Reading an issue.'],
      examples: [{ arguments: { repo: 'shop/checkout', number: 4821, body: 'hello' } }],
    },
    input: { type: 'object', additionalProperties: true },
    execution: { adapter: 'cli', handler: 'issue.comment', isolation: 'process', timeout_ms: 1_000 },
    output: { format: 'json', budget_bytes: 4_096 },
    governance: { risk: 'external_write', idempotent: false, ...(preview === undefined ? {} : { preview }) },
  });

/** Hides one word, by a mark. */
const hiding = (): Hide => {
  let count = 0;
  const text = (source: string): string => {
    count += source.split('SESAME').length - 1;
    return source.replaceAll('SESAME', '[redacted:password:00000000]');
  };
  return {
    text,
    json: <T>(value: T): T => JSON.parse(text(JSON.stringify(value))) as T,
    get count() {
      return count;
    },
  };
};

const input = (args: Record<string, unknown>, changes: Partial<PreviewInput> = {}): PreviewInput => ({
  actor: { tenant: 'acme', user: 'ada', agent: 'coder' },
  contract: contract('post a comment on {/repo}#{/number}'),
  args,
  risk: 'external_write',
  raisedBy: [],
  account: 'shop-bot',
  resource: 'github:repo:shop/checkout#4821',
  files: [],
  hide: { text: (text) => text, json: (value) => value, count: 0 },
  ...changes,
});

const comment = { repo: 'shop/checkout', number: 4821, body: 'Fixed in 3f2a.\nTests are green.' };

describe('a preview', () => {
  it('PO-3: says who, as which account, does what to what, with the body', () => {
    expect(renderPreview(input(comment))).toEqual({
      whole: true,
      text: [
        'ada, through the agent coder, wants to: post a comment on shop/checkout#4821',
        'as: shop-bot',
        'on: github:repo:shop/checkout#4821',
        'risk: external_write',
        'tool: issue.comment@1.0.0',
        'with:',
        '  repo: shop/checkout',
        '  number: 4821',
        '  body:',
        '    | Fixed in 3f2a.',
        '    | Tests are green.',
      ].join('\n'),
    });
  });

  it('PO-3: shows the arguments that its sentence does not name, in words', () => {
    const { text } = renderPreview(input({ ...comment, labels: ['bug', 'urgent'], notify: { all: true, who: [] } }));
    for (const line of ['labels 1: bug', 'labels 2: urgent', 'notify all: true', 'notify who: (an empty list)'])
      expect(text.split('\n')).toContain(`  ${line}`);
  });

  it('shows what raised the risk, what would run, and the files as they are', () => {
    const { text } = renderPreview(
      input(comment, {
        raisedBy: ['installs_dependencies'],
        files: [{ path: 'scripts/deploy.sh', sha256: 'ab'.repeat(32) }],
        command: { argv: ['npm', 'test'], cwd: 'packages/shop' },
      }),
    );
    expect(text).toContain('risk: external_write, raised by installs_dependencies');
    expect(text).toContain('file: scripts/deploy.sh as it is now, abababababababab');
    expect(text).toContain('runs, in packages/shop:\n  | npm\n  | test');
  });

  it('needs no template, and no arguments', () => {
    const { text } = renderPreview(input({}, { contract: contract() }));
    expect(text).toContain('wants to: call issue.comment\n');
    expect(text).toMatch(/without arguments$/);
  });

  it.each([
    ['turns the reading direction', 'pay \u202e001\u202c now', 'pay \\u{202e}001\\u{202c} now'],
    ['isolates', 'a\u2066b\u2069', 'a\\u{2066}b\\u{2069}'],
    ['has no width', 'pay\u200bpal\u2060\ufeff', 'pay\\u{200b}pal\\u{2060}\\u{feff}'],
    ['moves the cursor', 'ok\u001b[2K\rno', 'ok\\u{001b}[2K\\rno'],
    ['is a tag', 'hi\u{e0041}', 'hi\\u{e0041}'],
    ['varies', 'a\u{e0100}\ufe0f', 'a\\u{e0100}\\u{fe0f}'],
    ['fills', 'a\u3164b\u115f\u2800', 'a\\u{3164}b\\u{115f}\\u{2800}'],
    ['breaks lines', 'a\u2028b\u0085c', 'a\\u{2028}b\\u{0085}c'],
    ['is a space only by its looks', 'rm\u00a0-rf\u2003\u3000/ a', 'rm\\u{00a0}-rf\\u{2003}\\u{3000}/ a'],
    ['is half a character', 'a\ud800b', 'a\\u{d800}b'],
    ['has no meaning', 'a\ue000b\u0378', 'a\\u{e000}b\\u{0378}'],
  ])('PO-3: what %s is written out', (_, hidden, shown) => {
    expect(onOneLine(hidden)).toBe(shown);
    expect(renderPreview(input({ body: hidden })).text).toContain(`body: ${shown}`);
    expect(renderPreview(input({ [hidden]: 1 })).text).toContain(`${shown}: 1`);
    const named = renderPreview(input({ repo: hidden, number: 1 }, { account: hidden, resource: hidden })).text;
    expect(named).toContain(`comment on ${shown}#1`);
    expect(named).toContain(`as: ${shown}\non: ${shown}`);
  });

  it('RS-5: shows no secret wherever it stood, says that something is hidden, and is not whole then', () => {
    const { text, whole } = renderPreview(
      input(
        { repo: 'SESAME', number: 1, body: `${'x'.repeat(200)}SESAME`, SESAME: { list: ['SESAME'] } },
        {
          resource: 'github:repo:SESAME',
          account: 'SESAME',
          files: [{ path: 'a/SESAME.sh', sha256: 'ab'.repeat(32) }],
          command: { argv: ['node', '--key=SESAME'], cwd: 'SESAME' },
          hide: hiding(),
        },
      ),
    );
    expect(text).not.toContain('SESAME');
    expect(text.match(/\[redacted:password:0{8}\]/g)?.length).toBe(10);
    expect(text).toContain('\nhidden: secrets stand as [redacted:<kind>:<digits>]; what runs is what was sent\n');
    expect(whole).toBe(false);
    expect(renderPreview(input(comment, { hide: hiding() }))).toEqual(renderPreview(input(comment)));
  });

  it('RS-5: a secret at the cut of the sentence leaves no half of it', () => {
    const { text } = renderPreview(input({ repo: `${'r'.repeat(157)}SESAME`, number: 1 }, { hide: hiding() }));
    expect(text).not.toContain('SES');
  });

  it('no text of an argument can pass for a line of the preview', () => {
    const forged = 'nice\nas: nobody\nrisk: read\n\ntool: issue.read@1.0.0';
    const { text } = renderPreview(input({ repo: forged, number: 1, body: forged, as: 'x', risk: 'y', tool: 'z' }));
    for (const word of ['as: ', 'risk: ', 'tool: '])
      expect(text.split('\n').filter((line) => line.startsWith(word))).toHaveLength(1);
  });

  it('what does not fit whole says so, and stays within its bound', () => {
    const long = renderPreview(input({ body: 'x'.repeat(MAX_PREVIEW) }));
    expect(long.whole).toBe(false);
    expect(long.text).toMatch(/is not shown$/);
    expect(long.text.length).toBeLessThanOrEqual(MAX_PREVIEW);
    const many = renderPreview(input({ list: Array.from({ length: 3_000 }, () => 1) }));
    expect(many.whole).toBe(false);
    const escapes = renderPreview(input({ body: '\u200b'.repeat(MAX_PREVIEW / 4) }));
    expect(escapes.whole).toBe(false);
  });

  it('a long value is cut in the sentence and stands whole below it', () => {
    const repo = 'r'.repeat(400);
    const { text, whole } = renderPreview(input({ repo, number: 1 }));
    expect(whole).toBe(true);
    expect(text).toContain(`${'r'.repeat(160)}…#1`);
    expect(text).toContain(`  | ${repo}`);
  });

  it('never hides, never forges, never overflows, whatever the arguments are', () => {
    const value = fc.jsonValue({ maxDepth: 3, stringUnit: 'binary' });
    fc.assert(
      fc.property(
        fc.dictionary(fc.oneof(fc.constant('as'), fc.string({ unit: 'binary', maxLength: 20 })), value, { maxKeys: 6 }),
        (args) => {
          const { text } = renderPreview(input(args));
          expect(text.length).toBeLessThanOrEqual(MAX_PREVIEW);
          expect(text.replaceAll('\n', '')).not.toMatch(/[\p{C}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}]/u);
          expect(text.split('\n').filter((line) => line.startsWith('as: '))).toEqual(['as: shop-bot']);
        },
      ),
      { numRuns: 300 },
    );
  });
});

describe('bars', () => {
  it('stand before every line', () => expect(behindBars('a\n\nb')).toEqual(['  | a', '  | ', '  | b']));
});
