import type { FabricClient } from '@toolfabric/client';
import type { CallView } from '@toolfabric/contract';
import type { Json } from '@toolfabric/kernel';
import { withFabric } from '../cli/connect.ts';
import { describeCall } from '../cli/describe-call.ts';
import { exitOfCall } from '../cli/exit-codes.ts';
import { argumentsFromPairs, argumentText, objectFromJson } from '../cli/tool-arguments.ts';
import { UsageError } from '../cli/usage-error.ts';
import { CONNECT_FLAGS, type Context, type Verb } from '../cli/verb.ts';
import { WORKSPACE_HELP, workspaceSource } from '../cli/workspace-source.ts';

const DAY_MS = 86_400_000;

export const call: Verb = {
  name: 'call',
  summary: 'Propose one action and wait for its result.',
  usage: '<tool>[@version] [key=value …]',
  positionals: [1, 200],
  flags: {
    args: { type: 'string', value: 'JSON|@FILE|-', help: 'all arguments as one JSON object' },
    task: { type: 'string', value: 'ID', help: 'task to call in; without it a new one is made, and stays open' },
    workspace: { type: 'string', value: 'SOURCE', help: `workspace of the new task: ${WORKSPACE_HELP}` },
    wait: { type: 'string', value: 'MS', help: 'milliseconds to wait before only the call id is given (30000)' },
    start: { type: 'boolean', help: 'do not wait: give the call id at once' },
    deadline: { type: 'string', value: 'MS', help: 'milliseconds from now in which the call must begin its effect' },
    'request-key': { type: 'string', value: 'UUIDV7', help: 'same key, same call: for repeating a request' },
    'operation-key': { type: 'string', value: 'KEY', help: 'business identity of a write' },
    ...CONNECT_FLAGS,
  },
  notes: `examples:
  toolfabric call workspace.list_files --workspace clone:. path=.
  toolfabric call workspace.search_code --task t-… pattern=TODO max_results=5
  toolfabric call workspace.edit_file --task t-… --args @edit.json

key=value is read by the tool's schema; key:=JSON is JSON in any case.
Ctrl-C ends the waiting, not the call: see \`toolfabric get\` and \`toolfabric cancel\`.`,
  run: (context) => withFabric(context, (fabric) => propose(fabric, context)),
};

const propose = async (fabric: FabricClient, context: Context): Promise<number> => {
  const { args, output, signal } = context;
  const tool = args.positionals[0] ?? '';
  const deadlineMs = args.integer('deadline', 1, DAY_MS);
  const waitMs = args.integer('wait', 0, DAY_MS);
  const proposal = {
    tool,
    args: await readArguments(fabric, tool, context),
    taskId: await taskFor(fabric, context),
    ...optional('requestKey', args.text('request-key')),
    ...optional('operationKey', args.text('operation-key')),
    ...optional('deadlineMs', deadlineMs),
  };
  const view: CallView = args.on('start')
    ? await fabric.startCall(proposal, { signal })
    : await fabric.call(proposal, { signal, ...optional('waitMs', waitMs) });
  output.show(view, describeCall(view));
  return exitOfCall(view);
};

const optional = <K extends string, V>(key: K, value: V | undefined): { [key in K]?: V } =>
  value === undefined ? {} : ({ [key]: value } as { [key in K]?: V });

const readArguments = async (
  fabric: FabricClient,
  tool: string,
  { args, signal }: Context,
): Promise<Record<string, Json>> => {
  const pairs = args.positionals.slice(1);
  const given = args.text('args');
  if (given !== undefined) {
    if (pairs.length > 0) throw new UsageError('give either key=value or --args, not both');
    return objectFromJson(argumentText(given));
  }
  if (pairs.length === 0) return {};
  const { model } = await fabric.describeTool(tool, { signal });
  return argumentsFromPairs(pairs, model.input);
};

const taskFor = async (fabric: FabricClient, { args, output, signal }: Context): Promise<string> => {
  const [task, workspace] = [args.text('task'), args.text('workspace')];
  if (task !== undefined) {
    if (workspace !== undefined) throw new UsageError('--task has its workspace already: leave --workspace out');
    return task;
  }
  const made = await fabric.createTask(
    {
      title: 'from the command line',
      ...optional('workspace', workspace === undefined ? undefined : workspaceSource(workspace)),
    },
    { signal },
  );
  output.note(
    `task ${made.taskId} (go on with --task ${made.taskId}, end it with: toolfabric task end ${made.taskId})`,
  );
  return made.taskId;
};
