import { mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseContractYaml } from '@toolfabric/catalogue';
import { afterAll, describe, expect, it } from 'vitest';
import { parseArguments } from '../cli/arguments.ts';
import { createOutput } from '../cli/output.ts';
import type { Context } from '../cli/verb.ts';
import { INTERFACE_VERBS } from './interface.ts';

const folder = mkdtempSync(join(tmpdir(), 'toolfabric-interface-'));
afterAll(() => rmSync(folder, { recursive: true }));

const put = (name: string, text: string): string => {
  const file = join(folder, name);
  writeFileSync(file, text);
  return file;
};

const OPENAPI = `
openapi: 3.1.0
info: { title: Notes, version: "1" }
servers: [{ url: "https://elsewhere.example" }]
paths:
  /notes/{id}:
    get:
      operationId: readNote
      summary: Reads one note of the store.
      parameters: [{ name: id, in: path, required: true, schema: { type: string, maxLength: 60 }, description: Its id. }]
      responses: { "200": { description: ok, content: { application/json: { schema: { type: object } } } } }
    put:
      operationId: writeNote
      summary: Writes one note of the store.
      parameters: [{ name: id, in: path, required: true, schema: { type: string, maxLength: 60 }, description: Its id. }]
      requestBody:
        required: true
        content: { application/json: { schema: { type: object, required: [text], properties: { text: { type: string, description: It. } } } } }
      responses: { "200": { description: ok } }
`;
const DECLARED = `
interface: notes
base: https://notes.example.com
test_base: http://127.0.0.1:4000
openapi: openapi.yaml
operations:
  - { from: writeNote, name: write, reconcile: { operation: read, arguments: { id: "{/id}" }, id: data.body.id } }
  - { from: readNote, name: read }
`;
const openapi = put('openapi.yaml', OPENAPI);
const declared = put('interface.yaml', DECLARED);

const run = async (...argv: string[]) => {
  const [verb] = INTERFACE_VERBS;
  if (verb === undefined) throw new Error('there is no verb');
  const written: string[] = [];
  const notes: string[] = [];
  const args = parseArguments(argv, verb.flags, ...verb.positionals);
  const output = createOutput(
    args.on('json'),
    (text) => written.push(text),
    (text) => notes.push(text),
  );
  const code = await verb.run({ args, output, signal: new AbortController().signal } as unknown as Context);
  return { code, text: written.join(''), notes: notes.join('') };
};

describe('WB-4: toolfabric interface import', () => {
  const READ = ['--name', 'notes', '--base', 'https://notes.example.com', '--operation', 'readNote'];

  it('makes a contract of an operation of an OpenAPI document, at the address that was given', async () => {
    const { text } = await run(openapi, ...READ, '--credential', 'user:notes');
    const contract = parseContractYaml(text);
    expect(contract).toMatchObject({ name: 'notes.read_note', governance: { risk: 'read' } });
    expect(contract.execution.egress?.rules).toEqual([
      { host: 'notes.example.com', scheme: 'https', methods: ['GET'], paths: ['/notes'], credential: 'user:notes' },
    ]);
  });

  it('says what cannot be published, and that with its exit code', async () => {
    const { code, notes, text } = await run(openapi, ...READ.slice(0, 5), 'writeNote', '--json');
    expect(code).toBe(1);
    expect(notes).toContain('cannot be published: notes.write_note@1.0.0: governance.reconcile: needed');
    expect(JSON.parse(text)).toMatchObject({ contracts: [{ name: 'notes.write_note' }] });
  });

  it('completes the document with what a person has declared, in the order of publication', async () => {
    const out = join(folder, 'contracts');
    const { text, notes } = await run(declared, '--out', out);
    expect(notes).not.toContain('governance');
    expect(
      text
        .trim()
        .split('\n')
        .map((file) => file.slice(out.length + 1)),
    ).toEqual(['notes.read@1.0.0.yaml', 'notes.write@1.0.0.yaml']);
    const [read, write] = readdirSync(out)
      .sort()
      .map((file) => parseContractYaml(readFileSync(join(out, file), 'utf8')));
    expect(read?.governance.risk).toBe('read');
    expect(write?.governance).toMatchObject({
      risk: 'external_write',
      reconcile: { query: { tool: 'notes.read@1.0.0' } },
    });
  });

  it('shows the declared interface for a person to complete, which gives the same contracts again', async () => {
    const first = await run(declared, '--declaration');
    const whole = put('whole.yaml', first.text);
    const [a, b] = [await run(declared, '--json'), await run(whole, '--json')];
    expect(JSON.parse(b.text).contracts).toEqual(JSON.parse(a.text).contracts);
    const test = JSON.parse((await run(whole, '--test', '--json')).text);
    expect(test.contracts[0].execution.options.base).toBe('http://127.0.0.1:4000');
  });

  it.each([
    [[openapi], '--name is needed'],
    [[openapi, '--name', 'notes', '--base', 'https://a.example'], '--operation is needed'],
    [[openapi, ...READ, '--operation', 'no'], 'there is no operation no'],
    [[openapi, ...READ.slice(0, 2), '--base', 'https://a.example/', '--operation', 'readNote'], 'closing slash'],
    [[join(folder, 'missing.yaml')], 'there is no such file'],
    [['/dev/zero'], 'there is no such file'],
  ])('refuses %j with a reason', async (argv, why) => {
    await expect(run(...argv)).rejects.toThrow(why);
  });

  it('opens no other file of this machine for a declaration of somebody else', async () => {
    const outside = join(mkdtempSync(join(folder, 'secrets-')), 'secret.yaml');
    writeFileSync(outside, 'token: canary-of-somebody\n');
    const inner = mkdtempSync(join(folder, 'theirs-'));
    symlinkSync(outside, join(inner, 'link.yaml'));
    for (const named of [outside, '../openapi.yaml', './../openapi.yaml', '/dev/zero', '', '.', 'link.yaml']) {
      const file = join(inner, 'interface.yaml');
      writeFileSync(file, DECLARED.replace('openapi: openapi.yaml', `openapi: ${JSON.stringify(named)}`));
      const why = await run(file).catch((thrown: Error) => thrown.message);
      expect(why).toContain('is not in the folder of the declaration');
      expect(why).not.toContain('canary');
    }
  });
});
