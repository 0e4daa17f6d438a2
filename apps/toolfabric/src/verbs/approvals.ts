import type { FabricClient, RequestOptions } from '@toolfabric/client';
import { type ApprovalView, RiskGroup } from '@toolfabric/contract';
import { withFabric } from '../cli/connect.ts';
import { approvalLine, describeApproval } from '../cli/describe-approval.ts';
import { describeCall } from '../cli/describe-call.ts';
import { EXIT } from '../cli/exit-codes.ts';
import { argumentsFromPairs, argumentText, objectFromJson } from '../cli/tool-arguments.ts';
import { UsageError } from '../cli/usage-error.ts';
import { CONNECT_FLAGS, type Context, type Verb } from '../cli/verb.ts';

const REASON = { reason: { type: 'string', value: 'TEXT', help: 'what the one who asked is told' } } as const;
const RIGHT =
  'Needs a token with the right approvals:decide, for everything or followed by a scope; never that of who asked.';

const follow = async (fabric: FabricClient, { output, signal }: Context): Promise<number> => {
  for await (const approval of fabric.watchApprovals({ signal }))
    output.show(approval, approval.state === 'pending' ? `${describeApproval(approval)}\n` : approvalLine(approval));
  return EXIT.ok;
};

const list: Verb = {
  name: 'approvals list',
  summary: 'List what waits for a yes, the oldest first.',
  usage: '',
  positionals: [0, 0],
  flags: {
    follow: { type: 'boolean', help: 'go on, and tell each new question and each answer' },
    decided: { type: 'boolean', help: 'also what was answered lately' },
    after: { type: 'string', value: 'NEXT', help: 'the page after this one' },
    limit: { type: 'string', value: 'N', help: 'approvals on a page, 100 at most (50)' },
    ...CONNECT_FLAGS,
  },
  notes: `Shows what this token may decide, and what its own user asked for. ${RIGHT}`,
  run: (context) =>
    withFabric(context, async (fabric, request) => {
      const { args, output } = context;
      if (args.on('follow')) return follow(fabric, context);
      const [after, limit] = [args.text('after'), args.integer('limit', 1, 100)];
      const filter = {
        decided: args.on('decided'),
        ...(after === undefined ? {} : { after }),
        ...(limit === undefined ? {} : { limit }),
      };
      const page = await fabric.listApprovals(filter, request);
      const more = page.next === undefined ? [] : [`more: --after ${page.next}`];
      output.show(page, [...page.approvals.map(approvalLine), ...more].join('\n') || 'nothing waits');
      return EXIT.ok;
    }),
};

const show: Verb = {
  name: 'approvals show',
  summary: 'Show one approval: who wants to do what to what, as which account, with the whole body but secrets.',
  usage: '<approval id>',
  positionals: [1, 1],
  flags: CONNECT_FLAGS,
  run: (context) =>
    withFabric(context, async (fabric, request) => {
      const approval = await fabric.getApproval(context.args.positionals[0] ?? '', request);
      context.output.show(approval, describeApproval(approval));
      return EXIT.ok;
    }),
};

const isHalf = ({ state }: ApprovalView): boolean => state === 'pending';

const answer = (verb: 'grant' | 'deny', summary: string): Verb => ({
  name: `approvals ${verb}`,
  summary,
  usage: '<approval id>',
  positionals: [1, 1],
  flags: { ...REASON, ...CONNECT_FLAGS },
  notes: RIGHT,
  run: (context) =>
    withFabric(context, async (fabric, request) => {
      const { args, output } = context;
      const id = args.positionals[0] ?? '';
      const decide = verb === 'grant' ? fabric.grantApproval : fabric.denyApproval;
      const approval = await decide(id, args.text('reason'), request);
      output.show(approval, approvalLine(approval));
      if (isHalf(approval)) output.note('a strong approval: a second person must say yes as well');
      return EXIT.ok;
    }),
});

const newArguments = async (fabric: FabricClient, id: string, { args }: Context, request: RequestOptions) => {
  const pairs = args.positionals.slice(1);
  const given = args.text('args');
  if (given !== undefined && pairs.length > 0) throw new UsageError('give either key=value or --args, not both');
  if (given !== undefined) return objectFromJson(argumentText(given));
  if (pairs.length === 0) throw new UsageError('give the new arguments, whole: as key=value or with --args');
  const { tool } = await fabric.getApproval(id, request);
  const { model } = await fabric.describeTool(`${tool.name}@${tool.version}`, request);
  return argumentsFromPairs(pairs, model.input);
};

const edit: Verb = {
  name: 'approvals edit',
  summary: 'Change the arguments and approve them: a new call takes the place of the old one.',
  usage: '<approval id> [key=value …]',
  positionals: [1, 200],
  flags: {
    args: { type: 'string', value: 'JSON|@FILE|-', help: 'the new arguments, whole, as one JSON object' },
    'request-key': { type: 'string', value: 'UUIDV7', help: 'same key, same edit: for repeating a request' },
    ...REASON,
    ...CONNECT_FLAGS,
  },
  notes: RIGHT,
  run: (context) =>
    withFabric(context, async (fabric, request) => {
      const { args, output } = context;
      const id = args.positionals[0] ?? '';
      const [requestKey, reason] = [args.text('request-key'), args.text('reason')];
      const wanted = {
        args: await newArguments(fabric, id, context, request),
        ...(requestKey === undefined ? {} : { requestKey }),
        ...(reason === undefined ? {} : { reason }),
      };
      const edited = await fabric.editApproval(id, wanted, request);
      output.show(
        edited,
        `${approvalLine(edited.replaced)}\n${approvalLine(edited.approval)}\n${describeCall(edited.call)}`,
      );
      return EXIT.ok;
    }),
};

const MINUTE_MS = 60_000;

const batch: Verb = {
  name: 'approvals batch',
  summary: 'Say yes to several calls at once: one scope, one risk level, one window.',
  usage: '<call id> …',
  positionals: [1, 100],
  flags: {
    scope: { type: 'string', value: 'RESOURCE', help: 'what every one of them is about, or a part of it' },
    risk: { type: 'string', value: 'GROUP', help: 'risk group of every one of them, such as external_write' },
    minutes: { type: 'string', value: 'N', help: 'how long they may be used, 59 at most (15)' },
    ...REASON,
    ...CONNECT_FLAGS,
  },
  notes: `All of them are granted or none. Irreversible and privileged actions have no batch. ${RIGHT}`,
  run: (context) =>
    withFabric(context, async (fabric, request) => {
      const { args, output } = context;
      const scope = args.text('scope');
      const risk = RiskGroup.safeParse(args.text('risk'));
      if (scope === undefined) throw new UsageError('--scope: say what all of them are about');
      if (!risk.success) throw new UsageError(`--risk: one of ${RiskGroup.options.join(', ')}`);
      const reason = args.text('reason');
      const until = Date.now() + (args.integer('minutes', 1, 59) ?? 15) * MINUTE_MS;
      const wanted = { callIds: args.positionals, scope, risk: risk.data, until };
      const done = await fabric.grantBatch({ ...wanted, ...(reason === undefined ? {} : { reason }) }, request);
      output.show(done, done.outcomes.map(({ callId, state }) => `${callId}  ${state}`).join('\n'));
      return EXIT.ok;
    }),
};

export const APPROVAL_VERBS: readonly Verb[] = [
  list,
  show,
  answer('grant', 'Say yes; what was asked for runs at once.'),
  answer('deny', 'Say no; the call ends.'),
  edit,
  batch,
];
