import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { FabricError } from '@toolfabric/kernel';
import { afterAll, describe, expect, it } from 'vitest';
import { stringify } from 'yaml';
import { loadContracts } from './load-contracts.ts';
import { parseContract, parseContractYaml } from './parse-contract.ts';
import { sampleContract } from './sample-contract.ts';

const yaml = stringify(sampleContract());

const refusal = (read: () => unknown): FabricError => {
  try {
    read();
  } catch (error) {
    if (error instanceof FabricError) return error;
    throw error;
  }
  throw new Error('was accepted');
};

const nested = (levels: number): unknown => {
  let value: unknown = 1;
  for (let i = 0; i < levels; i += 1) value = { properties: value };
  return value;
};

describe('parseContractYaml', () => {
  it('RG-2: reads five layers, and fills in what was left out', () => {
    const contract = parseContractYaml(yaml);
    expect(contract).toEqual(sampleContract());
    expect(contract.execution.network).toBe('none');
    expect(contract.governance.retention_days).toBe(30);
  });

  it('names source and path of each field that does not fit', () => {
    const text = yaml
      .replace('risk: workspace_write', 'risk: harmless')
      .replace('timeout_ms: 10000', 'timeout_ms: soon');
    const { type, message } = refusal(() => parseContractYaml(text, 'note.yaml'));
    expect(type).toBe('contract_invalid');
    expect(message).toMatch(/^note\.yaml: /);
    expect(message).toContain('governance.risk');
    expect(message).toContain('execution.timeout_ms');
  });

  it.each([
    ['an unknown field', `${yaml}\nsurprise: 1`, 'surprise'],
    ['an unknown field of a layer', yaml.replace('governance:', 'governance:\n  retries: 3'), 'retries'],
    ['a repeated key', `${yaml}\nname: other.tool`, 'unique'],
    ['two documents', `${yaml}\n---\n${yaml}`, 'documents'],
    ['a custom tag', yaml.replace('name: notes.add_note', 'name: !exec notes.add_note'), 'tag'],
    ['a number that JSON cannot say', yaml.replace('maxLength: 20000', 'maxLength: .inf'), 'input'],
    ['no YAML', '{{{', 'note.yaml'],
    ['nothing', '', 'note.yaml'],
    ['a list', '- a', 'note.yaml'],
    ['text of more than 256 KiB', `${yaml}\n#${'x'.repeat(300_000)}`, 'larger'],
    ['deep nesting', stringify({ ...sampleContract(), input: nested(60) }), 'deeply'],
  ])('refuses %s', (_, text, part) => {
    const { type, message } = refusal(() => parseContractYaml(text, 'note.yaml'));
    expect(type).toBe('contract_invalid');
    expect(message).toContain(part);
    expect(message.length).toBeLessThan(4096);
  });

  it('refuses aliases that grow without end', () => {
    const lines = ['a: &a [x, x, x, x, x, x, x, x, x]'];
    for (const [name, before] of [...'bcdefgh'].entries())
      lines.push(`${before}: &${before} [${`*${'abcdefgh'[name]}, `.repeat(9)}]`);
    expect(refusal(() => parseContractYaml(lines.join('\n'))).type).toBe('contract_invalid');
  });

  it('takes text for text: no dates, no yes and no, no octal numbers', () => {
    const text = yaml.replace('text: Checked.', 'text: no').replace('path: notes/today.md', 'path: 2026-01-31');
    expect(parseContractYaml(text).capability.examples[0]?.arguments).toEqual({ path: '2026-01-31', text: 'no' });
  });
});

describe('parseContract', () => {
  it.each([null, undefined, 1, 'text', [], {}, JSON.parse('{"__proto__": {"name": "a.b"}}')])('refuses %j', (value) =>
    expect(refusal(() => parseContract(value)).type).toBe('contract_invalid'),
  );

  it('does not overflow on nesting of any depth', () => {
    expect(refusal(() => parseContract({ ...sampleContract(), input: nested(100_000) })).message).toContain('deeply');
  });
});

describe('loadContracts', () => {
  const directory = mkdtempSync(join(tmpdir(), 'contracts-'));
  afterAll(() => rmSync(directory, { recursive: true }));

  it('reads every .yaml in the order of the names, nothing else, and refuses a version that stands twice', () => {
    writeFileSync(join(directory, 'b.yaml'), stringify(sampleContract({ version: '1.1.0' })));
    writeFileSync(join(directory, 'a.yaml'), stringify(sampleContract({ version: '1.2.0' })));
    writeFileSync(join(directory, 'README.md'), 'not a contract');
    expect(loadContracts(directory).map(({ version }) => version)).toEqual(['1.2.0', '1.1.0']);

    writeFileSync(join(directory, 'c.yaml'), stringify(sampleContract({ version: '1.1.0' })));
    const { message } = refusal(() => loadContracts(directory));
    expect(message).toContain('c.yaml');
    expect(message).toContain('b.yaml');
  });

  it('names the file that is wrong', () => {
    writeFileSync(join(directory, 'c.yaml'), 'name: 1');
    expect(refusal(() => loadContracts(directory)).message).toMatch(/^c\.yaml: name/);
  });
});
