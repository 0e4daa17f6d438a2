import { ToolContract } from '@toolfabric/contract';
import { FabricError } from '@toolfabric/kernel';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { assertPublishable, checkPublication } from './check-publication.ts';
import { recordOf, SAMPLE_INPUT, type SampleChanges, sampleContract } from './sample-contract.ts';
import { ENFORCED_FIELDS, UNENFORCED_FIELDS } from './unenforced-fields.ts';

const problems = (changes: SampleChanges): string => checkPublication(sampleContract(changes), []).join('\n');
const heavy = { operation_key: '{/path}', reconcile: { by: 'probe' } };
const properties = SAMPLE_INPUT.properties;

describe('a contract that may be published', () => {
  it.each<[string, SampleChanges]>([
    ['the sample', {}],
    ['a claimless read', { governance: { risk: 'read', idempotent: true, claimless: true, reconcile: undefined } }],
    ['an irreversible one with key and probe', { governance: { risk: 'irreversible', ...heavy } }],
    [
      'an outside effect that is idempotent',
      { governance: { risk: 'external_write', idempotent: true, reconcile: undefined } },
    ],
    ['a precondition', { governance: { precondition: '/expected_hash' } }],
  ])('%s', (_, changes) => expect(problems(changes)).toBe(''));
});

describe('governance', () => {
  it.each<[string, SampleChanges, string]>([
    [
      'irreversible without key',
      { governance: { risk: 'irreversible', reconcile: { by: 'probe' } } },
      'governance.operation_key: needed for irreversible',
    ],
    [
      'irreversible without reconcile',
      { governance: { risk: 'irreversible', operation_key: '{/path}', reconcile: undefined } },
      'governance.reconcile: needed for irreversible',
    ],
    [
      'privileged with neither',
      { governance: { risk: 'privileged', reconcile: undefined } },
      'governance.operation_key: needed for privileged',
    ],
    [
      'an outside effect that is neither idempotent nor reconciled',
      { governance: { risk: 'external_write', reconcile: undefined } },
      'governance.reconcile: needed for an outside effect',
    ],
    ['a claimless write', { governance: { claimless: true } }, 'governance.claimless: only a contract without effect'],
    [
      'a read with an operation key',
      { governance: { risk: 'read', reconcile: undefined, operation_key: '{/path}' } },
      'governance.operation_key: a read has none',
    ],
    [
      'a read with a precondition',
      { governance: { risk: 'read', reconcile: undefined, precondition: '/path' } },
      'governance.precondition: a read has none',
    ],
    ['a read with a reconcile', { governance: { risk: 'read' } }, 'governance.reconcile: a read has none'],
    ['a scope without key', { governance: { effect_scope: 'x' } }, 'governance.effect_scope: means nothing'],
    [
      'a lock over something else than a workspace',
      { governance: { risk: 'external_write', reconcile: { by: 'probe', fence: 'workspace_lock' } } },
      'governance.reconcile.fence',
    ],
    [
      'a peer that deduplicates workspace writes',
      { governance: { reconcile: { by: 'probe', fence: 'dedupe' } } },
      'governance.reconcile.fence',
    ],
    ['a key of no argument', { governance: { ...heavy, operation_key: '{/nobody}' } }, '/nobody is no argument'],
    [
      'a key of an optional argument',
      { governance: { ...heavy, operation_key: '{/expected_hash}' } },
      '/expected_hash is not a required argument',
    ],
    ['a key that is always the same', { governance: { ...heavy, operation_key: 'once' } }, 'names no argument'],
    ['a key that is no template', { governance: { ...heavy, operation_key: '{path}' } }, 'braces of a template'],
    [
      'a precondition that is no pointer',
      { governance: { precondition: 'expected_hash' } },
      'governance.precondition: a JSON pointer',
    ],
    ['a precondition of no argument', { governance: { precondition: '/etag' } }, '/etag is no argument'],
    [
      'a preview of no argument',
      { governance: { preview: 'writes {/nobody}' } },
      'governance.preview: /nobody is no argument',
    ],
    [
      'a bound file of no argument',
      { governance: { executes: ['/nobody'] } },
      'governance.executes: /nobody is no argument',
    ],
    ['a preview that is no template', { governance: { preview: 'writes {path' } }, 'governance.preview: braces'],
    [
      'a written path of no argument',
      { governance: { writes: ['/nobody'] } },
      'governance.writes: /nobody is no argument',
    ],
    [
      'a written path that is no pointer',
      { governance: { writes: ['path'] } },
      'governance.writes: path is no JSON pointer',
    ],
    ['a timeout below what the bus takes', { execution: { timeout_ms: 50 } }, 'execution.timeout_ms: at least'],
    ['a timeout of a day', { execution: { timeout_ms: 86_400_000 } }, 'execution.timeout_ms: at most'],
    [
      'a long call without a claim',
      {
        execution: { timeout_ms: 120_000 },
        governance: { risk: 'read', idempotent: true, claimless: true, reconcile: undefined },
      },
      'without a claim',
    ],
    ['a tool of another group', { toolset: 'other' }, 'toolset: notes.add_note belongs to the group notes'],
  ])('RG-1: refuses %s', (_, changes, problem) => expect(problems(changes)).toContain(problem));
});

describe('input and examples', () => {
  it('RG-1: every example must be accepted by the schema; the message says where and why', () => {
    const examples = [{ arguments: { path: 'a', text: 'b' } }, { arguments: { path: 5, txt: 'b' } }];
    expect(problems({ capability: { examples } })).toContain(
      'capability.examples.1/path: expected string, got number 5',
    );
    expect(problems({ capability: { examples } })).toContain('capability.examples.1/txt');
    expect(problems({ capability: { examples } })).not.toContain('examples.0');
  });

  it('RT-4: an unknown format is refused at publication', () => {
    const input = { ...SAMPLE_INPUT, properties: { ...properties, path: { type: 'string', format: 'unix-path' } } };
    expect(problems({ input })).toContain('the format "unix-path" is unknown');
  });

  it('a schema that reaches out, or that is open, is refused', () => {
    expect(problems({ input: { ...SAMPLE_INPUT, additionalProperties: true } })).toContain('refuse unknown fields');
    const away = { ...SAMPLE_INPUT, properties: { ...properties, path: { $ref: 'https://example.com/path.json' } } };
    expect(problems({ input: away })).toContain('$ref may only name');
  });
});

describe('the way out of a contract', () => {
  const egress = { rules: [{ host: 'api.example.com' }], max_bytes: 10_000 };
  const out = (more: SampleChanges['execution'] = {}, governance: SampleChanges['governance'] = {}): string =>
    problems({ execution: { network: 'permit', egress, ...more }, governance });

  it('SB-2: is declared, names what it may reach, and is nothing without a network', () => {
    expect(out()).not.toContain('execution.egress');
    expect(out({ egress: undefined })).toContain('execution.egress: needed where network is permit');
    expect(out({ network: 'none' })).toContain('means nothing without network: permit');
    expect(out({ egress: { max_bytes: 10_000 } })).toContain('rules or from_arguments');
    const fromArguments = { egress: { from_arguments: {}, max_bytes: 10_000 } };
    expect(out(fromArguments)).toContain('governance.hosts must say which arguments name them');
    expect(out(fromArguments, { hosts: ['/path'] })).not.toContain('execution.egress');
  });

  it('SB-2: any host is for reading, without credentials and private addresses', () => {
    const any = (rule: object) => out({ egress: { rules: [{ host: '*', ...rule }], max_bytes: 10_000 } });
    expect(any({})).toContain('a rule for any host names the methods');
    expect(any({ methods: ['GET', 'POST'] })).toContain('a rule for any host names the methods');
    expect(any({ methods: ['GET'], addresses: ['10.0.0.0/8'] })).toContain('has no addresses');
    expect(any({ methods: ['GET', 'HEAD'] })).not.toContain('execution.egress');
  });

  it('PO-11: names credentials by their handles', () => {
    expect(out({ credentials: ['user:tracker'] })).not.toContain('execution.credentials');
    expect(out({ credentials: ['user:tracker', 'tracker'] })).toContain('"user:", "tenant:" or "shared:"');
  });

  it('RE-2: is a fence only for what goes out through it', () => {
    const fence = { risk: 'external_write', reconcile: { by: 'probe', fence: 'egress' } };
    expect(out({}, fence)).not.toContain('reconcile.fence');
    expect(out({ network: 'none', egress: undefined }, fence)).toContain('the egress fences outside effects');
  });

  it('RG-2: options travel in every message and are bounded', () => {
    expect(problems({ execution: { options: { text: 'x'.repeat(9_000) } } })).toContain('execution.options: at most');
  });
});

describe('fields that nothing enforces', () => {
  const USES: Record<string, SampleChanges> = {
    'execution.mode': { execution: { mode: 'mcp_remote' } },
    'execution.adapter': { execution: { adapter: 'provider' } },
    'governance.resource': { governance: { resource: 'workspace:{/path}' } },
    'governance.raise': { governance: { raise: [{ name: 'big', when: 'path', to: 'privileged' }] } },
    'governance.hosts': { governance: { hosts: ['/url'] } },
  };

  it.each(UNENFORCED_FIELDS.map(({ path }) => path))('RG-2: %s is refused rather than ignored', (path) => {
    expect(problems(USES[path] ?? {})).toContain(`${path}: nothing enforces this yet`);
    expect(problems({})).not.toContain(path);
  });

  /** Every leaf of the contract, as a dotted path. */
  const leavesOf = (schema: unknown, path: string): string[] => {
    let inner = schema;
    while (inner instanceof z.ZodOptional || inner instanceof z.ZodDefault) inner = inner.unwrap();
    if (!(inner instanceof z.ZodObject)) return [path];
    return Object.entries(inner.shape).flatMap(([key, item]) => leavesOf(item, path === '' ? key : `${path}.${key}`));
  };

  it('RG-2: every field of a contract is either enforced by somebody or refused', () => {
    const leaves = leavesOf(ToolContract, '');
    const accounted = new Set([...Object.keys(ENFORCED_FIELDS), ...UNENFORCED_FIELDS.map(({ path }) => path)]);
    expect(leaves.length).toBeGreaterThan(30);
    expect(leaves.filter((path) => !accounted.has(path))).toEqual([]);
    expect([...accounted].filter((path) => !leaves.includes(path))).toEqual([]);
  });
});

describe('history', () => {
  const published = (...versions: SampleChanges[]) => versions.map((changes) => recordOf(sampleContract(changes)));
  const wider = { ...SAMPLE_INPUT, properties: { ...properties, urgent: { type: 'boolean' } } };
  const narrower = { ...SAMPLE_INPUT, properties: { ...properties, text: { type: 'string', maxLength: 100 } } };
  const messages = (changes: SampleChanges, existing: SampleChanges[]): string =>
    checkPublication(sampleContract(changes), published(...existing)).join('\n');

  it('RG-3: the same version with the same content may be published again', () => expect(messages({}, [{}])).toBe(''));

  it('RG-3: the same version with other content is an incompatible change, whatever state it is in', () => {
    for (const state of ['published', 'deprecated', 'retired'] as const) {
      const existing = [recordOf(sampleContract(), state)];
      expect(() => assertPublishable(sampleContract({ execution: { timeout_ms: 5000 } }), existing)).toThrow(
        expect.objectContaining({ type: 'incompatible_change' }),
      );
    }
    const draft = [recordOf(sampleContract(), 'draft')];
    expect(assertPublishable(sampleContract({ execution: { timeout_ms: 5000 } }), draft)).toEqual([]);
  });

  it('RG-3: what an earlier version accepted must be accepted within the major', () => {
    expect(messages({ version: '1.1.0', input: wider }, [{}])).toBe('');
    expect(messages({ version: '1.1.0', input: narrower }, [{}])).toContain(
      'input/text: maxLength was tightened (since 1.0.0)',
    );
    expect(messages({ version: '2.0.0', input: narrower }, [{}])).toBe('');
  });

  it('RG-3: is compared with the version right below and right above', () => {
    const history = [{ version: '1.0.0' }, { version: '1.10.0', input: wider }];
    expect(messages({ version: '1.11.0' }, history)).toContain('input/urgent: is refused now (since 1.10.0)');
    expect(messages({ version: '1.9.0' }, history)).toBe('');
    const stays = { version: '1.9.0', input: { ...SAMPLE_INPUT, properties: { ...properties, late: {} } } };
    expect(messages(stays, history)).toContain('input/late: is refused now (in 1.10.0)');
  });

  it('RG-3: another form of the output is an incompatible change', () =>
    expect(messages({ version: '1.0.1', output: { format: 'text' } }, [{}])).toContain('output.format: was changed'));

  it('other tools and drafts do not count', () => {
    const others = [recordOf(sampleContract({ name: 'notes.other' })), recordOf(sampleContract(), 'draft')];
    expect(checkPublication(sampleContract({ version: '1.1.0', input: narrower }), others)).toEqual([]);
  });
});

describe('assertPublishable', () => {
  it('lists every problem in one bounded message with a type', () => {
    const broken = sampleContract({ toolset: 'x', output: { success_when: 'a' }, governance: { risk: 'read' } });
    expect(() => assertPublishable(broken, [])).toThrow(FabricError);
    expect(() => assertPublishable(broken, [])).toThrow(/toolset.*governance\.reconcile.*output\.success_when/s);
    expect(() => assertPublishable(broken, [])).toThrow(expect.objectContaining({ type: 'contract_invalid' }));
  });
});
