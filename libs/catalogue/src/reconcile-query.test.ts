import type { Outcome } from '@toolfabric/contract';
import { describe, expect, it } from 'vitest';
import { assertPublishable, checkPublication } from './check-publication.ts';
import { compileQuery, fillArguments } from './reconcile-query.ts';
import { recordOf, sampleContract } from './sample-contract.ts';

const answer = (data: unknown, more: Partial<Outcome> = {}): Outcome => ({
  status: 'ok',
  summary: 'comments',
  data: data as NonNullable<Outcome['data']>,
  sideEffect: 'none',
  trust: 'untrusted',
  ...more,
});

describe('the arguments of a question', () => {
  it.each<[unknown, unknown]>([
    ['{/number}', 7],
    ['issue {/number}: {/key}', 'issue 7: a b'],
    [{ query: { terms: ['{/key}', 1, null] } }, { query: { terms: ['a b', 1, null] } }],
    ['plain', 'plain'],
    ['{/deep/er}', { x: [1] }],
    ['at {/deep/er}', 'at {"x":[1]}'],
  ])('%j become %j', (template, filled) => {
    expect(fillArguments(template, { number: 7, key: 'a b', deep: { er: { x: [1] } } })).toEqual(filled);
  });

  it('need what they name', () => {
    expect(() => fillArguments('{/none}', {})).toThrow('/none');
  });
});

describe('RE-2: what the answer to a question says', () => {
  const read = compileQuery({ id: 'data.comments[0].id', absent: 'data.complete' });
  it.each<[string, Outcome, object]>([
    ['an id', answer({ comments: [{ id: 'c1' }], complete: false }), { answer: 'found', id: 'c1' }],
    ['a number for an id', answer({ comments: [{ id: 0 }] }), { answer: 'found', id: '0' }],
    ['nothing, and it is all', answer({ comments: [], complete: true }), { answer: 'absent' }],
    ['nothing, which proves nothing', answer({ comments: [], complete: false }), { answer: 'not_visible' }],
    ['another shape', answer({ items: [] }), { answer: 'not_visible' }],
    ['no data', answer(undefined), { answer: 'not_visible' }],
    ['an id that is none', answer({ comments: [{ id: { x: 1 } }], complete: false }), { answer: 'not_visible' }],
    ['an empty id', answer({ comments: [{ id: '' }] }), { answer: 'not_visible' }],
    ['an error', answer({ comments: [], complete: true }, { status: 'error' }), { answer: 'failed' }],
    ['unknown', answer({ comments: [{ id: 'c1' }] }, { status: 'unknown' }), { answer: 'failed' }],
    [
      'nothing in what was cut',
      answer({ comments: [], complete: true }, { truncation: [{ stream: 'data', kept: 1, total: 9, unit: 'items' }] }),
      { answer: 'not_visible' },
    ],
  ])('%s', (_name, outcome, said) => {
    expect(read(outcome)).toEqual(said);
  });

  it('proves no absence where the contract says no way to', () => {
    expect(compileQuery({ id: 'data.id' })(answer({ complete: true }))).toEqual({ answer: 'not_visible' });
  });

  it('is a failed question where the expression cannot be said', () => {
    expect(compileQuery({ id: 'length(data.none)' })(answer({}))).toEqual({ answer: 'failed' });
  });
});

describe('RG-8: a contract whose outcomes another tool tells', () => {
  const search = recordOf(
    sampleContract({
      name: 'notes.search',
      input: {
        type: 'object',
        additionalProperties: false,
        required: ['in'],
        properties: { in: { type: 'string', maxLength: 4096, description: 'Where to look.' } },
      },
      capability: { examples: [{ arguments: { in: 'a.md' } }] },
      governance: { risk: 'read', idempotent: true, reconcile: undefined },
    }),
  );
  const query = { tool: 'notes.search@1.0.0', arguments: { in: '{/path}' }, id: 'data.id', absent: 'data.all' };
  const asking = (changes: object = {}, reconcile: object = {}) =>
    sampleContract({ governance: { reconcile: { by: 'query', query: { ...query, ...changes }, ...reconcile } } });

  it('is published beside the tool that it asks', () => {
    expect(() => assertPublishable(asking(), [search])).not.toThrow();
  });

  it.each<[string, ReturnType<typeof sampleContract>, string]>([
    ['a tool that is not there', asking({ tool: 'notes.none@1.0.0' }), 'is not published'],
    ['another version of it', asking({ tool: 'notes.search@1.0.1' }), 'is not published'],
    ['arguments that it does not take', asking({ arguments: { on: '{/path}' } }), 'notes.search expects'],
    [
      'an argument of its own that may be missing',
      asking({ arguments: { in: '{/expected_hash}' } }),
      'required argument',
    ],
    ['an argument that it does not have', asking({ arguments: { in: '{/nope}' } }), '/nope is no argument'],
    ['a brace that opens nothing', asking({ arguments: { in: '{x' } }), 'braces'],
    ['an expression that is none', asking({ id: 'data.[' }), 'refused'],
    ['an expression over what is not there', asking({ absent: 'result.all' }), 'no field of an outcome'],
    ['no query', asking({}, { query: undefined }), 'reconcile.query: needed'],
    ['a query beside a probe', asking({}, { by: 'probe' }), 'asks no other tool'],
    ['the lock of a workspace', asking({}, { fence: 'workspace_lock' }), 'holds no lock'],
    ['history without a key of its own', asking({}, { history: true }), 'reconcile.history'],
  ])('is refused with %s', (_name, contract, problem) => {
    expect(checkPublication(contract, [search]).join('; ')).toContain(problem);
  });

  it('is refused with a tool that writes, or that runs elsewhere', () => {
    const writes = recordOf(sampleContract({ name: 'notes.search', governance: { risk: 'workspace_write' } }));
    expect(checkPublication(asking({ arguments: { path: '{/path}', text: 'x' } }), [writes]).join()).toContain(
      'does not only read',
    );
    const { contract } = search;
    const elsewhere = recordOf({ ...contract, execution: { ...contract.execution, pools: ['other'] } });
    expect(checkPublication(asking(), [elsewhere]).join()).toContain('does not run where this runs');
  });
});
