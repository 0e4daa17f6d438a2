import type { CallOptions, FabricClient, RequestOptions } from '@toolfabric/client';
import type { CallView } from '@toolfabric/contract';
import type { Json } from '@toolfabric/kernel';
import type { Arguments } from '../cli/arguments.ts';
import { withFabric } from '../cli/connect.ts';
import { describeCall } from '../cli/describe-call.ts';
import { exitOfCall } from '../cli/exit-codes.ts';
import { CALL_LIMIT_FLAGS, callLimitsOf } from '../cli/task-rules.ts';
import { TEST_FLAGS, testCommandOf } from '../cli/test-command.ts';
import { argumentsFromPairs, argumentText, objectFromJson } from '../cli/tool-arguments.ts';
import { UsageError } from '../cli/usage-error.ts';
import { CONNECT_FLAGS, type Context, type Verb } from '../cli/verb.ts';
import { WORKSPACE_HELP, workspaceSource } from '../cli/workspace-source.ts';

const DAY_MS = 86_400_000;
const WAIT_MS = 30_000;

export const call: Verb = {
  name: 'call',
  summary: 'Propose one action and wait for its result.',
  usage: '<tool>[@version] [key=value …]',
  positionals: [1, 200],
  flags: {
    args: { type: 'string', value: 'JSON|@FILE|-', help: 'all arguments as one JSON object' },
    task: { type: 'string', value: 'ID', help: 'task to call in; without it a new one is made, and stays open' },
    workspace: { type: 'string', value: 'SOURCE', help: `workspace of the new task: ${WORKSPACE_HELP}` },
    ...TEST_FLAGS,
    wait: { type: 'string', value: 'MS', help: 'milliseconds to wait before only the call id is given (30000)' },
    start: { type: 'boolean', help: 'do not wait: give the call id at once' },
    background: {
      type: 'boolean',
      help: 'let it run apart from any wait, for tools that allow it; see `toolfabric log`',
    },
    deadline: { type: 'string', value: 'MS', help: 'milliseconds from now in which the call must begin its effect' },
    ...CALL_LIMIT_FLAGS,
    'request-key': { type: 'string', value: 'UUIDV7', help: 'same key, same call: for repeating a request' },
    turn: { type: 'string', value: 'N', help: 'round of the model that proposes it' },
    model: { type: 'string', value: 'NAME', help: 'model that proposes it, with its version' },
    repairs: { type: 'string', value: 'CALL', help: 'failed call that this one is a better try of' },
    'operation-key': { type: 'string', value: 'KEY', help: 'business identity of a write' },
    ...CONNECT_FLAGS,
  },
  notes: `examples:
  toolfabric call workspace.list_files --workspace clone:. path=.
  toolfabric call workspace.search_code --task t-… pattern=TODO max_matches=5
  toolfabric call workspace.edit_file --task t-… --args @edit.json

key=value is read by the tool's schema; key:=JSON is JSON in any case.
Ctrl-C ends the waiting, not the call: see \`toolfabric get\` and \`toolfabric cancel\`.`,
  run: (context) => withFabric(context, (fabric, request) => propose(fabric, request, context)),
};

const propose = async (fabric: FabricClient, request: RequestOptions, context: Context): Promise<number> => {
  const { args, output } = context;
  const tool = args.positionals[0] ?? '';
  const deadlineMs = args.integer('deadline', 1, DAY_MS);
  const waitMs = args.integer('wait', 0, DAY_MS);
  const proposal = {
    tool,
    args: await readArguments(fabric, tool, request, args),
    taskId: await taskFor(fabric, request, context),
    ...optional('requestKey', args.text('request-key')),
    ...optional('operationKey', args.text('operation-key')),
    ...optional('deadlineMs', deadlineMs),
    ...optional('limits', callLimitsOf(args)),
    ...optional('turn', args.integer('turn', 0, 1_000_000)),
    ...optional('model', args.text('model')),
    ...optional('repairs', args.text('repairs')),
    ...(args.on('background') ? { background: true } : {}),
  };
  const view: CallView = args.on('start')
    ? await fabric.startCall(proposal, request)
    : await fabric.call(proposal, waiting(request, waitMs));
  output.show(view, describeCall(view));
  return exitOfCall(view);
};

/** The time for an answer comes on top of the time for the call. */
const waiting = ({ timeoutMs, ...request }: RequestOptions, waitMs = WAIT_MS): CallOptions => ({
  ...request,
  waitMs,
  ...optional('timeoutMs', timeoutMs === undefined ? undefined : waitMs + timeoutMs),
});

const optional = <K extends string, V>(key: K, value: V | undefined): { [key in K]?: V } =>
  value === undefined ? {} : ({ [key]: value } as { [key in K]?: V });

const readArguments = async (
  fabric: FabricClient,
  tool: string,
  request: RequestOptions,
  args: Arguments,
): Promise<Record<string, Json>> => {
  const pairs = args.positionals.slice(1);
  const given = args.text('args');
  if (given !== undefined) {
    if (pairs.length > 0) throw new UsageError('give either key=value or --args, not both');
    return objectFromJson(argumentText(given));
  }
  if (pairs.length === 0) return {};
  const { model } = await fabric.describeTool(tool, request);
  return argumentsFromPairs(pairs, model.input);
};

const taskFor = async (fabric: FabricClient, request: RequestOptions, { args, output }: Context): Promise<string> => {
  const [task, workspace] = [args.text('task'), args.text('workspace')];
  if (task !== undefined) {
    if (workspace !== undefined) throw new UsageError('--task has its workspace already: leave --workspace out');
    if (args.text('test') !== undefined) throw new UsageError('--task has its test command already: leave --test out');
    return task;
  }
  const made = await fabric.createTask(
    {
      title: 'from the command line',
      ...optional('workspace', workspace === undefined ? undefined : workspaceSource(workspace)),
      ...testCommandOf(args),
    },
    request,
  );
  output.note(
    `task ${made.taskId} (go on with --task ${made.taskId}, end it with: toolfabric task end ${made.taskId})`,
  );
  return made.taskId;
};
