import type { UnknownResolution } from '@toolfabric/client';
import { Resolution, type ResolutionEvidence, type UnknownCall } from '@toolfabric/contract';
import type { Arguments } from '../cli/arguments.ts';
import { withFabric } from '../cli/connect.ts';
import { describeCall } from '../cli/describe-call.ts';
import { EXIT } from '../cli/exit-codes.ts';
import { UsageError } from '../cli/usage-error.ts';
import { CONNECT_FLAGS, type Verb } from '../cli/verb.ts';

const ANSWERS = {
  absent: 'nothing was written up to now, which is proven',
  not_visible: 'nothing was found, which proves nothing',
  failed: 'the question got no answer',
} as const;

const when = (at: number): string => new Date(at).toISOString();

const asking = ({ asked, answered, reconciling }: UnknownCall): string => {
  if (asked === 0) return reconciling ? 'not asked yet' : 'nobody can ask: this tool has no probe';
  const last = answered === undefined ? 'no answer yet' : ANSWERS[answered];
  return `asked ${asked} times, last: ${last}${reconciling ? '; goes on asking' : '; asks no more'}`;
};

const line = (call: UnknownCall): string => {
  const { callId, tool, actor, left } = call;
  const state = left !== undefined ? 'left' : call.reconciling ? 'asking' : 'waits';
  return `${callId}  ${state.padEnd(6)}  ${`${tool.name}@${tool.version}`.padEnd(28)} ${actor.user}/${actor.agent}  since ${when(call.unknownAt)}`;
};

const describe = (call: UnknownCall): string => {
  const { left, doubt, resource, account, evidence = [] } = call;
  return [
    line(call),
    call.summary,
    asking(call),
    ...(doubt ? ['an earlier attempt may still take effect'] : []),
    ...(resource === undefined ? [] : [`resource: ${resource}`]),
    ...(account === undefined ? [] : [`account: ${account}`]),
    ...evidence.map(({ kind, ref, detail }) => `evidence: ${kind} ${ref}${detail ? ` (${detail})` : ''}`),
    ...(left === undefined ? [] : [`left by ${left.user}, ${when(left.at)}${left.note ? `: ${left.note}` : ''}`]),
    '',
    call.what,
  ].join('\n');
};

const list: Verb = {
  name: 'unknown list',
  summary: 'List calls whose outcome is not known: a person may have to find out.',
  usage: '',
  positionals: [0, 0],
  flags: {
    after: { type: 'string', value: 'CURSOR', help: 'go on after a page' },
    limit: { type: 'string', value: 'N', help: 'calls in a page, at most 100 (50)' },
    ...CONNECT_FLAGS,
  },
  notes: 'With a token that has the right unknown:resolve those of the whole tenant, else those of its user.',
  run: (context) =>
    withFabric(context, async (fabric, request) => {
      const { args, output } = context;
      const [after, limit] = [args.text('after'), args.integer('limit', 1, 100)];
      const page = { ...(after === undefined ? {} : { after }), ...(limit === undefined ? {} : { limit }) };
      const answer = await fabric.listUnknown(page, request);
      const more = answer.next === undefined ? [] : [`more: --after ${answer.next}`];
      output.show(answer, [...answer.unknown.map(line), ...more].join('\n') || 'no unknown calls');
      return EXIT.ok;
    }),
};

const show: Verb = {
  name: 'unknown show',
  summary: 'Show an unknown call with what it was about to do.',
  usage: '<call id>',
  positionals: [1, 1],
  flags: CONNECT_FLAGS,
  run: (context) =>
    withFabric(context, async (fabric, request) => {
      const call = await fabric.getUnknown(context.args.positionals[0] ?? '', request);
      context.output.show(call, describe(call));
      return EXIT.ok;
    }),
};

/** `comment:c17` is evidence of the kind comment. */
const evidenceOf = (text: string): ResolutionEvidence => {
  const match = /^([a-z][a-z0-9_-]{0,79}):(.{1,500})$/.exec(text);
  if (match?.[1] === undefined || match[2] === undefined)
    throw new UsageError(`--evidence ${text}: give a kind and an id, such as comment:c17`);
  return { kind: match[1], ref: match[2] };
};

const saidIn = (args: Arguments): UnknownResolution => {
  const resolution = Resolution.safeParse(args.positionals[1]?.replaceAll('-', '_'));
  if (!resolution.success) throw new UsageError('say happened, did-not-happen or leave');
  const [evidence, note] = [args.text('evidence'), args.text('note')];
  if (resolution.data === 'happened' && evidence === undefined)
    throw new UsageError('that it happened needs --evidence: what is there, such as comment:c17');
  return {
    resolution: resolution.data,
    ...(evidence === undefined ? {} : { evidence: evidenceOf(evidence) }),
    ...(note === undefined ? {} : { note }),
  };
};

const resolve: Verb = {
  name: 'unknown resolve',
  summary: 'Say what became of an unknown call.',
  usage: '<call id> <happened|did-not-happen|leave>',
  positionals: [2, 2],
  flags: {
    evidence: { type: 'string', value: 'KIND:ID', help: 'what is there; needed for happened' },
    note: { type: 'string', value: 'TEXT', help: 'what you looked at' },
    ...CONNECT_FLAGS,
  },
  notes:
    'Needs a token with the right unknown:resolve of another user than the one who asked for the call.\n' +
    'did-not-happen frees the operation: the same action may then be run again. Say it only when it cannot come any more.',
  run: (context) =>
    withFabric(context, async (fabric, request) => {
      const { args, output } = context;
      const said = saidIn(args);
      const call = await fabric.resolveUnknown(args.positionals[0] ?? '', said, request);
      output.show(call, describeCall(call));
      return EXIT.ok;
    }),
};

export const UNKNOWN_VERBS: readonly Verb[] = [list, show, resolve];
