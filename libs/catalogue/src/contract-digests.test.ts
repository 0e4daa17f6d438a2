import { ToolContract } from '@toolfabric/contract';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { contractDigests, draftOf, modelView } from './contract-digests.ts';
import { SAMPLE_INPUT, type SampleChanges, sampleContract } from './sample-contract.ts';

const digests = (changes: SampleChanges = {}) => contractDigests(sampleContract(changes));
const original = digests();

describe('contractDigests', () => {
  it.each<[string, SampleChanges]>([
    ['the implementation', { execution: { handler: 'add_note_by_index' } }],
    ['the adapter', { execution: { adapter: 'sandbox' } }],
    ['the isolation', { execution: { isolation: 'gvisor' } }],
    ['the pools', { execution: { pools: ['cli-fast'] } }],
    ['the timeout', { execution: { timeout_ms: 20_000 } }],
    ['the risk', { governance: { risk: 'external_write' } }],
    ['the reconcile window', { governance: { reconcile: { by: 'probe', window_ms: 5 } } }],
    ['the toolset', { toolset: 'other' }],
  ])('FD-1: a change of %s leaves the model-facing part byte-equal and changes the whole', (_, changes) => {
    expect(JSON.stringify(modelView(sampleContract(changes)))).toBe(JSON.stringify(modelView(sampleContract())));
    expect(digests(changes).modelDigest).toBe(original.modelDigest);
    expect(digests(changes).digest).not.toBe(original.digest);
  });

  it.each<[string, SampleChanges]>([
    ['the name', { name: 'notes.put_note' }],
    ['the version', { version: '1.0.1' }],
    ['the description', { capability: { description: 'Adds two notes to a file of the workspace.' } }],
    ['an example', { capability: { examples: [{ arguments: { path: 'b', text: '' } }] } }],
    ['the input', { input: { ...SAMPLE_INPUT, required: ['path'] } }],
    ['the output', { output: { budget_bytes: 1000 } }],
  ])('RG-1: a change of %s changes both', (_, changes) => {
    expect(digests(changes).modelDigest).not.toBe(original.modelDigest);
    expect(digests(changes).digest).not.toBe(original.digest);
  });

  it('RG-1: a model sees name, version, capability, input and output, and nothing else', () => {
    const text = JSON.stringify(modelView(sampleContract({ execution: { handler: 'hidden-handler' } })));
    expect(Object.keys(modelView(sampleContract()))).toEqual(['name', 'version', 'capability', 'input', 'output']);
    for (const hidden of ['hidden-handler', 'namespace', 'workspace_write', 'timeout_ms']) {
      expect(text).not.toContain(hidden);
    }
  });

  it('a field that is left at its default counts as left out, so that new fields change no old digest', () => {
    const written = digests({
      internal: false,
      execution: { mode: 'runtime_function', network: 'none', credentials: [], pools: [], options: {} },
      governance: {
        reconcile: { by: 'probe', fence: 'none', window_ms: 86_400_000 },
        pii_allowed: true,
        retention_days: 30,
        redact: [],
        claimless: false,
      },
    });
    expect(written).toEqual(original);
  });

  it.each([
    'internal',
    'execution.mode',
    'execution.network',
    'execution.credentials',
    'execution.pools',
    'execution.options',
    'governance.claimless',
    'governance.pii_allowed',
    'governance.retention_days',
    'governance.redact',
    'governance.reconcile.fence',
    'governance.reconcile.window_ms',
  ])('RG-3: a record from before the field %s existed keeps its digests', (path) => {
    const older = JSON.parse(JSON.stringify(sampleContract()));
    const keys = path.split('.');
    const last = keys.pop() ?? '';
    const holder = keys.reduce((value, key) => value[key], older);
    expect(holder[last]).toBeDefined();
    delete holder[last];
    expect(contractDigests(older)).toEqual(original);
  });

  it('does not depend on the order of the fields', () => {
    const shuffle = (value: unknown, seed: number): unknown => {
      if (typeof value !== 'object' || value === null) return value;
      if (Array.isArray(value)) return value.map((item) => shuffle(item, seed));
      const entries = Object.entries(value).map(([key, item]): [string, unknown] => [key, shuffle(item, seed)]);
      return Object.fromEntries(entries.sort(([a], [b]) => ((a.length * seed) % 7) - ((b.length * seed) % 7)));
    };
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 1000 }), (seed) => {
        const shuffled = shuffle(sampleContract(), seed) as ToolContract;
        expect(contractDigests(shuffled)).toEqual(original);
      }),
      { numRuns: 20 },
    );
  });

  it('survives storing and reading', () => {
    const { contract, digest, modelDigest, state } = draftOf(sampleContract());
    expect(state).toBe('draft');
    expect(contractDigests(ToolContract.parse(JSON.parse(JSON.stringify(contract))))).toEqual({ digest, modelDigest });
  });
});
