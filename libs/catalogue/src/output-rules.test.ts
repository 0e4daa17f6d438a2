import type { Outcome } from '@toolfabric/contract';
import { describe, expect, it } from 'vitest';
import { checkPublication } from './check-publication.ts';
import { compileOutput } from './output-rules.ts';
import { sampleContract } from './sample-contract.ts';

type Rules = Record<string, unknown>;

const written = (changes: Partial<Outcome> = {}): Outcome => ({
  status: 'ok',
  summary: 'wrote a.md',
  data: { exit_code: 0, hash: 'abc' },
  content: [{ type: 'text', text: 'done' }],
  sideEffect: 'confirmed',
  evidence: [{ kind: 'file', ref: 'a.md' }],
  artifacts: ['a-1'],
  trust: 'untrusted',
  ...changes,
});

const judge = (output: Rules, outcome: Outcome): Outcome =>
  (compileOutput(sampleContract({ output })) ?? ((same: Outcome) => same))(outcome);

const SCHEMA = {
  type: 'object',
  additionalProperties: true,
  required: ['exit_code'],
  properties: { exit_code: { type: 'integer', minimum: 0 }, at: { type: 'string', format: 'date-time' } },
};

describe('RG-8: the rules of a contract about its outcomes', () => {
  it('a contract without rules has none', () => {
    expect(compileOutput(sampleContract())).toBeUndefined();
  });

  it('what fits stays as it is', () => {
    const outcome = written();
    const output = { schema: SCHEMA, error_when: 'data.exit_code != `0`', success_when: 'data.hash' };
    expect(judge(output, outcome)).toBe(outcome);
  });

  it('error_when makes an error of an ok that says so, and keeps everything that it said', () => {
    const outcome = written({ data: { exit_code: 2 } });
    const { status, error, ...kept } = judge({ error_when: 'data.exit_code != `0`' }, outcome);
    expect({ status, error }).toMatchObject({
      status: 'error',
      error: { type: 'reported_failure', layer: 'adapter', message: expect.stringContaining('wrote a.md') },
    });
    const { status: _ok, ...before } = outcome;
    expect(kept).toEqual(before);
  });

  it('success_when does where it does not hold', () => {
    expect(judge({ success_when: 'data.hash' }, written({ data: { hash: '' } }))).toMatchObject({
      status: 'error',
      error: { type: 'reported_failure' },
      sideEffect: 'confirmed',
    });
  });

  it.each([
    ['a missing field', {}],
    ['a wrong type', { exit_code: 'one' }],
    ['a format', { exit_code: 0, at: 'yesterday' }],
    ['no object', [1]],
  ])(
    'an answer that does not fit the schema (%s) is not handed on, but its effect and its proof are',
    (_what, data) => {
      const judged = judge({ schema: SCHEMA }, written({ data }));
      expect(judged).toMatchObject({
        status: 'error',
        error: { type: 'output_invalid' },
        sideEffect: 'confirmed',
        evidence: [{ kind: 'file', ref: 'a.md' }],
        artifacts: ['a-1'],
        summary: 'wrote a.md',
      });
      expect(judged).not.toHaveProperty('data');
      expect(judged).not.toHaveProperty('content');
    },
  );

  it('the message names the field and what was expected, and quotes nothing of the answer', () => {
    const { error } = judge({ schema: SCHEMA }, written({ data: { exit_code: 'a-secret' } }));
    expect(error?.message).toContain('data/exit_code');
    expect(JSON.stringify(error)).not.toContain('a-secret');
  });

  it.each([{ schema: SCHEMA }, { error_when: 'data.error' }, { success_when: 'data.hash' }])(
    'data that was left out for its size cannot be checked: %o',
    (output) => {
      const { data, ...rest } = written();
      const cut: Outcome = { ...rest, truncation: [{ stream: 'output', kept: 0, total: 9_000, unit: 'bytes' }] };
      expect(judge(output, cut)).toMatchObject({
        error: { type: 'output_invalid', message: expect.stringContaining('left out for its size') },
      });
    },
  );

  it('a condition that cannot be said breaks the contract', () => {
    expect(judge({ error_when: 'length(data.errors) > `0`' }, written())).toMatchObject({
      error: { type: 'output_invalid', message: expect.stringContaining('error_when') },
    });
  });

  it.each<Outcome['status']>(['error', 'unknown'])('an outcome that is %s is not judged', (status) => {
    const outcome = written({ status, data: 'anything' });
    expect(judge({ schema: SCHEMA, success_when: 'data.never' }, outcome)).toBe(outcome);
  });

  it('is idempotent', () => {
    for (const data of [{ exit_code: 1 }, { exit_code: 'x' }, { exit_code: 0 }]) {
      const output = { schema: SCHEMA, error_when: 'data.exit_code != `0`' };
      const once = judge(output, written({ data }));
      expect(judge(output, once)).toEqual(once);
    }
  });
});

describe('RG-8: an answer with sources', () => {
  const cited = (url: string) => written({ content: [{ type: 'citation', url, text: 't' }] });

  it.each(['https://example.com/a', 'http://example.com', 'HTTPS://example.com/?q=1'])('%s can be looked up', (url) => {
    expect(judge({ format: 'citations' }, cited(url)).status).toBe('ok');
    expect(judge({ format: 'citations' }, written({ data: { citations: [{ url }] } })).status).toBe('ok');
  });

  it.each([
    '',
    '/a',
    'example.com',
    '//example.com',
    'javascript:alert(1)',
    'file:///etc/passwd',
    'data:text/html,x',
    'http://',
    'https:example.com',
    ' https://example.com',
    'java\nscript:https://example.com',
  ])('%j cannot', (url) => {
    const named = judge({ format: 'citations' }, cited(url));
    expect(named).toMatchObject({ status: 'error', error: { type: 'output_invalid' } });
    expect(JSON.stringify(named)).not.toContain('alert');
    expect(judge({ format: 'citations' }, written({ data: { citations: [{ url }] } })).status).toBe('error');
  });

  it.each([[[{}]], [[null]], [['https://example.com']], [[{ url: 7 }]]])('entries %j have no address', (citations) => {
    expect(judge({ format: 'citations' }, written({ data: { citations } })).status).toBe('error');
  });

  it('a search that found nothing is an answer', () => {
    expect(judge({ format: 'citations' }, written({ data: { citations: [] }, content: [] })).status).toBe('ok');
  });
});

describe('RG-8: an answer that is a file or an image', () => {
  const artifact = `a-${'0'.repeat(26)}`;
  const file = (mediaType: string): Outcome => written({ content: [{ type: 'file', name: 'f', mediaType, artifact }] });
  const FILE = { format: 'file', artifacts: true };

  it('holds one', () => {
    expect(judge(FILE, file('text/plain')).status).toBe('ok');
    expect(judge({ format: 'image' }, file('image/png')).status).toBe('ok');
    const image = written({ content: [{ type: 'image', mediaType: 'image/webp', dataBase64: 'AA==' }] });
    expect(judge({ format: 'image' }, image).status).toBe('ok');
  });

  it('without one breaks the contract', () => {
    expect(judge(FILE, written()).error?.type).toBe('output_invalid');
    expect(judge({ format: 'image' }, file('image/svg+xml')).error?.type).toBe('output_invalid');
    const bad = written({ content: [{ type: 'file', name: 'f', mediaType: 'a/b', artifact: '../x' }] });
    expect(judge(FILE, bad).error?.type).toBe('output_invalid');
  });
});

describe('RG-2: publication', () => {
  const problems = (output: Rules) => checkPublication(sampleContract({ output }), []).join('\n');

  it.each([
    ['a schema that is none', { schema: { type: 'objekt' } }, 'output.schema'],
    ['a schema that is no object', { schema: { type: 'array', items: {} } }, 'output must be an object'],
    ['an unknown format', { schema: { ...SCHEMA, properties: { a: { type: 'string', format: 'x' } } } }, 'format "x"'],
    ['an expression that cannot be parsed', { error_when: 'data.' }, 'output.error_when'],
    ['an expression over something else', { success_when: 'status' }, 'output.success_when'],
    ['a file without artifacts', { format: 'file' }, 'output.artifacts'],
    [
      'citations without an address',
      {
        format: 'citations',
        schema: {
          type: 'object',
          additionalProperties: false,
          properties: {
            citations: { type: 'array', items: { type: 'object', additionalProperties: true, properties: {} } },
          },
        },
      },
      'required url',
    ],
  ])('refuses %s', (_what, output, expected) => {
    expect(problems(output)).toContain(expected);
  });

  it('RS-5: refuses a redaction rule that does not exist, and takes names and pointers', () => {
    const of = (redact: string[]) =>
      checkPublication(sampleContract({ governance: { risk: 'workspace_write', redact } }), []).join('\n');
    expect(of(['authorisation'])).toContain('there is no rule "authorisation"');
    expect(of(['authorization', 'email', '/answers/*/phone'])).toBe('');
  });

  it('takes rules that compile', () => {
    expect(problems({ schema: SCHEMA, error_when: 'data.error', success_when: 'data.exit_code == `0`' })).toBe('');
    const citation = {
      type: 'object',
      additionalProperties: true,
      required: ['url'],
      properties: { url: { type: 'string', format: 'uri' } },
    };
    const schema = {
      type: 'object',
      additionalProperties: false,
      properties: { citations: { type: 'array', items: citation } },
    };
    expect(problems({ format: 'citations', schema })).toBe('');
  });
});
