import { readFileSync } from 'node:fs';
import type { FabricClient } from '@toolfabric/client';
import { type ModelTool, ToolName, type ToolSummary, ToolVersion } from '@toolfabric/contract';
import type { Json } from '@toolfabric/kernel';
import { withFabric } from '../cli/connect.ts';
import { EXIT } from '../cli/exit-codes.ts';
import { UsageError } from '../cli/usage-error.ts';
import { CONNECT_FLAGS, type Verb } from '../cli/verb.ts';

const line = ({ name, version, state, risk, denied, description }: ToolSummary): string =>
  `${`${name}@${version}`.padEnd(32)} ${state.padEnd(10)} ${risk.padEnd(15)} ${denied ? '(denied) ' : ''}${description.split(/(?<=\.)\s/)[0]}`;

const describe = (summary: ToolSummary, model: ModelTool): string =>
  [
    `${summary.name}@${summary.version}  ${summary.state}  ${summary.risk}`,
    `digest ${summary.digest}`,
    `as a model sees it, digest ${summary.modelDigest}:`,
    '',
    JSON.stringify(model, null, 2),
  ].join('\n');

const list: Verb = {
  name: 'tools list',
  summary: 'List the tools that this token could call.',
  usage: '',
  positionals: [0, 0],
  flags: { all: { type: 'boolean', help: 'also drafts, deprecated and retired versions' }, ...CONNECT_FLAGS },
  run: (context) =>
    withFabric(context, async (fabric, request) => {
      const { args, output } = context;
      const answer = await fabric.listTools({ allStates: args.on('all') }, request);
      output.show(answer, answer.tools.map(line).join('\n') || 'no tools');
      return EXIT.ok;
    }),
};

const show: Verb = {
  name: 'tools show',
  summary: 'Show one tool as a model sees it.',
  usage: '<tool>[@version]',
  positionals: [1, 1],
  flags: CONNECT_FLAGS,
  run: (context) =>
    withFabric(context, async (fabric, request) => {
      const answer = await fabric.describeTool(context.args.positionals[0] ?? '', request);
      context.output.show(answer, describe(answer.summary, answer.model));
      return EXIT.ok;
    }),
};

const putDraft: Verb = {
  name: 'tools put-draft',
  summary: 'Store a contract as a draft; - reads standard input.',
  usage: '<file.yaml|file.json|->',
  positionals: [1, 1],
  flags: CONNECT_FLAGS,
  notes: 'Needs a token with the right registry:publish.',
  run: (context) =>
    withFabric(context, async (fabric, request) => {
      const { args, output } = context;
      const file = args.positionals[0] ?? '';
      const { parseContractYaml } = await import('@toolfabric/catalogue');
      const contract = parseContractYaml(readFileSync(file === '-' ? 0 : file, 'utf8'), file);
      const summary = await fabric.putDraft(contract as unknown as Json, request);
      output.show(summary, line(summary));
      return EXIT.ok;
    }),
};

type Move = 'publish' | 'deprecate' | 'retire';

const move = (to: Move, summary: string): Verb => ({
  name: `tools ${to}`,
  summary,
  usage: '<tool>@<version>',
  positionals: [1, 1],
  flags: CONNECT_FLAGS,
  notes: 'Needs a token with the right registry:publish.',
  run: (context) =>
    withFabric(context, async (fabric: FabricClient, request) => {
      const [name, version] = exactVersion(context.args.positionals[0] ?? '');
      const moved = await fabric[to](name, version, request);
      context.output.show(moved, line(moved));
      return EXIT.ok;
    }),
});

const exactVersion = (text: string): [string, string] => {
  const [name = '', version = '', more] = text.split('@');
  if (!ToolName.safeParse(name).success || !ToolVersion.safeParse(version).success || more !== undefined) {
    throw new UsageError(`${text}: name one version, such as workspace.read_file@1.0.0`);
  }
  return [name, version];
};

export const TOOL_VERBS: readonly Verb[] = [
  list,
  show,
  putDraft,
  move('publish', 'Publish a draft; from then on that version never changes.'),
  move('deprecate', 'Mark a published version as one to move away from.'),
  move('retire', 'Take a version out of use.'),
];
