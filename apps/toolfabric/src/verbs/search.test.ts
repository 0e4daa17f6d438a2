import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseContractYaml } from '@toolfabric/catalogue';
import { afterAll, describe, expect, it } from 'vitest';
import { parseArguments } from '../cli/arguments.ts';
import { createOutput } from '../cli/output.ts';
import type { Context } from '../cli/verb.ts';
import { SEARCH_VERBS } from './search.ts';

const folder = mkdtempSync(join(tmpdir(), 'toolfabric-search-'));
afterAll(() => rmSync(folder, { recursive: true }));

const run = async (setup: string, ...flags: string[]) => {
  const file = join(folder, 'search.yaml');
  writeFileSync(file, setup);
  const [verb] = SEARCH_VERBS;
  if (verb === undefined) throw new Error('there is no verb');
  const [written, notes]: [string[], string[]] = [[], []];
  const args = parseArguments([file, ...flags], verb.flags, ...verb.positionals);
  const output = createOutput(
    args.on('json'),
    (text) => written.push(text),
    (text) => notes.push(text),
  );
  const code = await verb.run({ args, output, signal: new AbortController().signal } as unknown as Context);
  return { code, text: written.join(''), notes: notes.join('') };
};

const SETUP = `
version: 1.1.0
reads_pages: true
groups: { docs: [docs.example.org, "*.example.net"] }
providers:
  - kind: local
  - { kind: searxng, base: "http://search.corp.example:8080", addresses: [10.1.0.0/16], timeout_ms: 3000 }
  - { kind: brave, credential: "tenant:brave" }
`;

describe('WB-1: toolfabric search contract', () => {
  it('makes a contract that can be published, with a rule for each provider and its name for the model', async () => {
    const { code, text, notes } = await run(SETUP);
    expect([code, notes]).toEqual([0, '']);
    const contract = parseContractYaml(text);
    expect(contract).toMatchObject({ name: 'web.search', version: '1.1.0', governance: { hosts: [] } });
    expect(contract.execution.egress?.rules.map(({ host, credential }) => [host, credential])).toEqual([
      ['search.corp.example', undefined],
      ['api.search.brave.com', 'tenant:brave'],
      ['*', undefined],
      ['*', undefined],
    ]);
    expect(contract.execution.options).toMatchObject({
      groups: { docs: ['docs.example.org', '*.example.net'] },
      providers: [{ kind: 'local' }, { kind: 'searxng', timeout_ms: 3000 }, { kind: 'brave' }],
    });
    expect(contract.capability.description).toContain('It asks local (the folder of your tenant), searxng, brave.');
  });

  it('says that a version is taken, and that with its exit code', async () => {
    const { code, notes, text } = await run(SETUP.replace('1.1.0', '1.0.0'), '--json');
    expect(code).toBe(1);
    expect(notes).toContain('cannot be published: web.search@1.0.0: version: 1.0.0 was published with other content');
    expect(JSON.parse(text)).toMatchObject({ contract: { name: 'web.search' }, problems: [expect.any(String)] });
  });

  it.each([
    ['version: 1.1.0\nproviders: []', 'providers'],
    ['version: 1\nproviders: [{ kind: brave }]', 'version'],
    ['version: 1.1.0\nproviders: [{ kind: bing }]', 'providers.0.kind'],
    ['version: 1.1.0\nproviders: [{ kind: searxng }]', 'providers.0.base'],
    ['version: 1.1.0\nproviders: [{ kind: brave, key: secret }]', 'providers.0'],
    ['version: 1.1.0\nproviders: [{ kind: brave, credential: secret }]', 'providers.0.credential'],
    ['version: 1.1.0\nproviders: [{ kind: brave }]\nmore: true', 'more'],
    ['version: 1.1.0\nproviders: [{ kind: local, credential: "tenant:x" }]', 'needs no credential'],
  ])('refuses %j with the field that is wrong', async (setup, why) => {
    await expect(run(setup)).rejects.toThrow(why);
  });
});
