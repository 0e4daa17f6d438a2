import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { ToolContract } from '@toolfabric/contract';
import { EXIT } from '../cli/exit-codes.ts';
import { JSON_FLAG, type Verb } from '../cli/verb.ts';

/** One file a contract, as `tools put-draft` takes it; in the order in which they can be published. */
const writeContracts = (
  folder: string,
  contracts: readonly ToolContract[],
  asText: (value: unknown) => string,
): string[] => {
  mkdirSync(folder, { recursive: true });
  return contracts.map((contract) => {
    const file = join(folder, `${contract.name}@${contract.version}.yaml`);
    writeFileSync(file, asText(contract));
    return file;
  });
};

const importInterface: Verb = {
  name: 'interface import',
  summary: 'Make tool contracts out of an OpenAPI document or a declared interface.',
  usage: '<openapi.yaml|openapi.json|interface.yaml>',
  positionals: [1, 1],
  flags: {
    name: { type: 'string', value: 'NAME', help: 'the interface: the group of its tools' },
    base: { type: 'string', value: 'URL', help: 'address of the interface; the servers of the document are not read' },
    operation: {
      type: 'string',
      value: 'ID',
      multiple: true,
      help: 'an operationId, or "METHOD /path", that becomes a tool',
    },
    version: { type: 'string', value: 'VERSION', help: 'version of the contracts (1.0.0)' },
    credential: { type: 'string', value: 'HANDLE', help: 'credential to act with, such as user:tracker' },
    'key-header': { type: 'string', value: 'NAME', help: 'header that carries the operation key' },
    'test-base': { type: 'string', value: 'URL', help: 'address where the same interface may be tried out' },
    test: { type: 'boolean', help: 'make the contracts for the test address' },
    declaration: { type: 'boolean', help: 'show the declared interface instead, for a person to complete' },
    out: { type: 'string', value: 'DIR', help: 'folder to write the contracts to, one file each' },
    ...JSON_FLAG,
  },
  notes:
    'Exit code 0 when every contract could be published, 1 when one could not; what is wrong is said either way.\n' +
    'Publish them with `toolfabric tools put-draft` and `toolfabric tools publish`. docs/interfaces.md tells the rest.',
  run: async ({ args, output }) => {
    const [{ compileInterface, writeYaml }, { readInterface }, { reviewContracts }] = await Promise.all([
      import('@toolfabric/catalogue'),
      import('../interface/read-interface.ts'),
      import('../interface/review-contracts.ts'),
    ]);
    const { document, notes } = readInterface(args.positionals[0] ?? '', args);
    for (const note of notes) output.note(`note: ${note}`);
    if (args.on('declaration')) {
      output.show(document, writeYaml(document));
      return EXIT.ok;
    }
    const contracts = compileInterface(document, { test: args.on('test') });
    const { problems, warnings } = reviewContracts(contracts);
    for (const warning of warnings) output.note(`warning: ${warning}`);
    for (const problem of problems) output.note(`cannot be published: ${problem}`);
    const folder = args.text('out');
    const files = folder === undefined ? undefined : writeContracts(folder, contracts, writeYaml);
    output.show({ contracts, notes, warnings, problems }, files?.join('\n') ?? contracts.map(writeYaml).join('---\n'));
    return problems.length === 0 ? EXIT.ok : EXIT.toolError;
  },
};

export const INTERFACE_VERBS: readonly Verb[] = [importInterface];
