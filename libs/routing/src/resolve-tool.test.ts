import type { LifeCycle, RegistryRecord, ToolContract } from '@toolfabric/contract';
import { FabricError } from '@toolfabric/kernel';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { resolveTool } from './resolve-tool.ts';
import { buildIndex } from './tool-index.ts';
import { compareVersions } from './versions.ts';

const record = (name: string, version: string, state: LifeCycle = 'published', internal = false): RegistryRecord => ({
  contract: { name, version, internal } as ToolContract,
  state,
  digest: `${name}@${version}`,
  modelDigest: '',
});

const resolved = (records: RegistryRecord[], reference: string): string =>
  resolveTool(buildIndex(records), reference).contract.version;

const refusal = (records: RegistryRecord[], reference: string, options = {}): FabricError => {
  try {
    resolveTool(buildIndex(records), reference, options);
  } catch (error) {
    if (error instanceof FabricError) return error;
    throw error;
  }
  throw new Error(`${reference} was resolved`);
};

const hintOf = (error: FabricError): string => error.toToolError().hint ?? '';

describe('which version a name means', () => {
  it('RG-3: the highest published one, by number and not by text', () => {
    const records = ['1.9.0', '1.10.0', '1.2.11'].map((version) => record('web.fetch', version));
    expect(resolved(records, 'web.fetch')).toBe('1.10.0');
  });

  it('RG-3: a deprecated one only when it is named, or when nothing else is left', () => {
    const both = [record('web.fetch', '1.0.0'), record('web.fetch', '2.0.0', 'deprecated')];
    expect(resolved(both, 'web.fetch')).toBe('1.0.0');
    expect(resolved(both, 'web.fetch@2.0.0')).toBe('2.0.0');
    expect(resolved([record('web.fetch', '2.0.0', 'deprecated')], 'web.fetch')).toBe('2.0.0');
  });

  it('RG-3: drafts do not exist for a caller', () => {
    const records = [record('web.fetch', '1.0.0'), record('web.fetch', '2.0.0', 'draft')];
    expect(resolved(records, 'web.fetch')).toBe('1.0.0');
    expect(refusal(records, 'web.fetch@2.0.0').type).toBe('unknown_version');
    expect(refusal([record('web.fetch', '1.0.0', 'draft')], 'web.fetch').type).toBe('unknown_tool');
  });

  it('RG-3: a retired one is refused as retired, by name and by version', () => {
    const records = [record('web.fetch', '1.0.0', 'retired'), record('web.fetch', '1.1.0')];
    const error = refusal(records, 'web.fetch@1.0.0');
    expect(error.type).toBe('tool_retired');
    expect(hintOf(error)).toContain('1.1.0');
    expect(refusal([record('web.fetch', '1.0.0', 'retired')], 'web.fetch').type).toBe('tool_retired');
  });

  it('an unknown version names the known ones, the highest first, drafts and retired ones left out', () => {
    const records = [
      record('web.fetch', '1.0.0'),
      record('web.fetch', '1.10.0', 'deprecated'),
      record('web.fetch', '0.9.0', 'retired'),
      record('web.fetch', '3.0.0', 'draft'),
    ];
    const error = refusal(records, 'web.fetch@9.9.9');
    expect(error.type).toBe('unknown_version');
    expect(hintOf(error)).toContain('1.10.0, 1.0.0');
    expect(hintOf(error)).not.toMatch(/0\.9\.0|3\.0\.0/);
  });

  it('for any set of versions, the answer is the highest published one', () => {
    const version = fc.tuple(fc.nat(20), fc.nat(20), fc.nat(20)).map((parts) => parts.join('.'));
    const state = fc.constantFrom<LifeCycle>('draft', 'published', 'deprecated', 'retired');
    const set = fc.uniqueArray(fc.tuple(version, state), { minLength: 1, selector: ([name]) => name });
    fc.assert(
      fc.property(set, (versions) => {
        const published = versions.filter(([, at]) => at === 'published').map(([name]) => name);
        fc.pre(published.length > 0);
        const records = versions.map(([name, at]) => record('web.fetch', name, at));
        expect(resolved(records, 'web.fetch')).toBe(published.sort(compareVersions).at(-1));
      }),
    );
  });
});

describe('names that nobody has', () => {
  const records = ['workspace.read_file', 'workspace.edit_file', 'workspace.search_code', 'web.search'].map((name) =>
    record(name, '1.0.0'),
  );

  it.each([
    ['workspace.raed_file', 'workspace.read_file'],
    ['workspace_read_file', 'workspace.read_file'],
    ['Workspace.Search_Code', 'workspace.search_code'],
    ['websearch', 'web.search'],
  ])('%s: suggests %s', (typed, meant) => {
    const error = refusal(records, typed);
    expect(error.type).toBe('unknown_tool');
    expect(hintOf(error)).toContain(meant);
  });

  it('suggests nothing where nothing is near', () => {
    expect(hintOf(refusal(records, 'payments.refund_order'))).not.toContain('Did you mean');
  });

  it.each(['', '@', '@1.0.0', 'a', '__proto__', 'constructor', 'toString', 'workspace.read_file ', '..', '\u0000'])(
    'hostile name %j is unknown and nothing else',
    (name) => expect(refusal(records, name).type).toBe('unknown_tool'),
  );

  it.each([
    'workspace.read_file@',
    'workspace.read_file@1',
    'workspace.read_file@latest',
    'workspace.read_file@__proto__',
  ])('hostile version %j is unknown and nothing else', (name) =>
    expect(refusal(records, name).type).toBe('unknown_version'),
  );

  it('repeats no more than a short printable part of what was typed', () => {
    const { message } = refusal(records, `\u202e\n${'x'.repeat(10_000)}`);
    expect(message.length).toBeLessThan(150);
    expect(message).not.toMatch(/[^\x20-\x7e]/);
  });

  it('suggests nothing that the caller may not see, that was retired, or that is internal', () => {
    const visible = ({ contract }: RegistryRecord) => contract.name !== 'workspace.read_file';
    expect(hintOf(refusal(records, 'workspace.raed_file', { visible }))).not.toContain('read_file');
    const hidden = [record('web.fetch', '1.0.0', 'retired'), record('web.fetcher', '1.0.0', 'published', true)];
    expect(hintOf(refusal(hidden, 'web.fetc'))).not.toContain('Did you mean');
  });

  it('internal contracts cannot be named from outside, and are found from inside', () => {
    const internal = [record('fabric.prepare', '1.0.0', 'published', true)];
    expect(refusal(internal, 'fabric.prepare').type).toBe('unknown_tool');
    expect(refusal(internal, 'fabric.prepare@1.0.0').type).toBe('unknown_tool');
    expect(resolveTool(buildIndex(internal), 'fabric.prepare', { internal: true }).contract.version).toBe('1.0.0');
  });
});

describe('many tools', () => {
  /** Fails as soon as somebody looks at it again. */
  const guarded = (original: RegistryRecord, guard: { closed: boolean }): RegistryRecord =>
    new Proxy(original, {
      get(target, key) {
        if (guard.closed) throw new Error('looked at another record');
        return target[key as keyof RegistryRecord];
      },
    });

  it('a call looks at no other record, and at no list, among 10,000 tools', () => {
    const guard = { closed: false };
    const others = Array.from({ length: 10_000 }, (_, i) =>
      guarded(record(`group${i % 50}.tool_${i}`, '1.0.0'), guard),
    );
    const index = buildIndex([...others, record('web.fetch', '1.0.0'), record('web.fetch', '1.1.0')]);
    const maps = [index.tools, index.tools.get('web.fetch')?.versions];
    for (const map of maps) {
      for (const key of ['forEach', 'entries', 'values', 'keys', Symbol.iterator]) {
        Object.defineProperty(map, key, { value: () => expect.unreachable('walked through a list') });
      }
    }
    guard.closed = true;
    expect(resolveTool(index, 'web.fetch').contract.version).toBe('1.1.0');
    expect(resolveTool(index, 'web.fetch@1.0.0').contract.version).toBe('1.0.0');
  });

  it('a misspelt name still finds its tool', () => {
    const many = Array.from({ length: 10_000 }, (_, i) => record(`workspace.read_thing_${i}`, '1.0.0'));
    expect(hintOf(refusal([...many, record('workspace.search_code', '1.0.0')], 'workspace.serach_code'))).toContain(
      'workspace.search_code',
    );
  });
});
