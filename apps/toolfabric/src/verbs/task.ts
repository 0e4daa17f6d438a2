import { TaskOutcome, type TaskRecord } from '@toolfabric/contract';
import { withFabric } from '../cli/connect.ts';
import { EXIT } from '../cli/exit-codes.ts';
import { TASK_RULE_FLAGS, taskRulesOf } from '../cli/task-rules.ts';
import { TEST_FLAGS, testCommandOf } from '../cli/test-command.ts';
import { UsageError } from '../cli/usage-error.ts';
import { CONNECT_FLAGS, type Verb } from '../cli/verb.ts';
import { WORKSPACE_HELP, workspaceSource } from '../cli/workspace-source.ts';

const describe = ({ taskId, state, outcome, title, workspace, failure }: TaskRecord): string => {
  const where = workspace === undefined ? 'no workspace' : sourceText(workspace.source);
  const why = failure === undefined ? '' : `  ${failure.type}: ${failure.message}`;
  return `${taskId}  ${outcome ?? state}  ${where}${title === '' ? '' : `  ${title}`}${why}`;
};

const sourceText = (source: NonNullable<TaskRecord['workspace']>['source']): string =>
  source.type === 'empty' ? 'empty workspace' : `${source.type} ${source.path}`;

export const taskCreate: Verb = {
  name: 'task create',
  summary: 'Begin a task: the unit of workspace and budget that calls belong to.',
  usage: '[title]',
  positionals: [0, 1],
  flags: {
    workspace: { type: 'string', value: 'SOURCE', help: `what the task works on: ${WORKSPACE_HELP}` },
    ...TEST_FLAGS,
    ...TASK_RULE_FLAGS,
    ...CONNECT_FLAGS,
  },
  run: (context) =>
    withFabric(context, async (fabric, request) => {
      const { args, output } = context;
      const workspace = args.text('workspace');
      const task = await fabric.createTask(
        {
          title: args.positionals[0] ?? '',
          ...(workspace === undefined ? {} : { workspace: workspaceSource(workspace) }),
          ...testCommandOf(args),
          ...taskRulesOf(args),
        },
        request,
      );
      output.show(task, describe(task));
      return EXIT.ok;
    }),
};

export const taskShow: Verb = {
  name: 'task show',
  summary: 'Show a task.',
  usage: '<task id>',
  positionals: [1, 1],
  flags: CONNECT_FLAGS,
  run: (context) =>
    withFabric(context, async (fabric, request) => {
      const task = await fabric.getTask(context.args.positionals[0] ?? '', request);
      context.output.show(task, describe(task));
      return EXIT.ok;
    }),
};

export const taskWiden: Verb = {
  name: 'task widen',
  summary: 'Let a running task do more than it was made for; not for whoever it works for.',
  usage: '<task id>',
  positionals: [1, 1],
  flags: {
    writable: { type: 'string', multiple: true, value: 'GLOB', help: 'paths that may be written too; may be repeated' },
    host: {
      type: 'string',
      multiple: true,
      value: 'HOST',
      help: 'a host, or *.suffix for all below it, that it may send to whatever it has read; may be repeated',
    },
    note: { type: 'string', value: 'TEXT', help: 'why' },
    ...CONNECT_FLAGS,
  },
  run: (context) =>
    withFabric(context, async (fabric, request) => {
      const { args, output } = context;
      const [writable, hosts, note] = [args.list('writable'), args.list('host'), args.text('note')];
      const more = {
        ...(writable.length === 0 ? {} : { writable }),
        ...(hosts.length === 0 ? {} : { hosts }),
        ...(note === undefined ? {} : { note }),
      };
      const task = await fabric.widenTask(args.positionals[0] ?? '', more, request);
      output.show(task, describe(task));
      return EXIT.ok;
    }),
};

export const taskEnd: Verb = {
  name: 'task end',
  summary: 'End a task and say how it went; nothing can be called in it afterwards.',
  usage: '<task id>',
  positionals: [1, 1],
  flags: {
    outcome: { type: 'string', value: 'OUTCOME', help: 'succeeded (when left out), failed or abandoned' },
    ...CONNECT_FLAGS,
  },
  run: (context) =>
    withFabric(context, async (fabric, request) => {
      const { args, output } = context;
      const outcome = TaskOutcome.safeParse(args.text('outcome') ?? 'succeeded');
      if (!outcome.success) throw new UsageError(`--outcome: give ${TaskOutcome.options.join(', ')}`);
      const task = await fabric.endTask(args.positionals[0] ?? '', outcome.data, request);
      output.show(task, describe(task));
      return EXIT.ok;
    }),
};
