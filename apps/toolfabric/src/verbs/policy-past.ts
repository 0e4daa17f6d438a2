import type { FabricClient, RequestOptions } from '@toolfabric/client';
import type { PolicyInput, Told } from '@toolfabric/policy-cedar';
import type { PolicyExplanation } from '@toolfabric/ports';
import type { Flags } from '../cli/arguments.ts';
import { withFabric } from '../cli/connect.ts';
import { EXIT } from '../cli/exit-codes.ts';
import { timeOf } from '../cli/time-of.ts';
import { CONNECT_FLAGS, type Verb } from '../cli/verb.ts';

const readInput = async (text: string): Promise<PolicyInput | undefined> => {
  const { PolicyInput: schema } = await import('@toolfabric/policy-cedar');
  const read = schema.safeParse(JSON.parse(text));
  return read.success ? read.data : undefined;
};

/** What the decision about a past call was made of: undefined when no trace of it is kept, or not all of it. */
const inputOf = async (
  fabric: FabricClient,
  callId: string,
  request: RequestOptions,
  everybody: boolean,
): Promise<PolicyInput | undefined> => {
  if (everybody) {
    const { decisions } = await fabric.listDecisions({ callId }, request);
    const newest = decisions.find(({ cut }) => !cut);
    return newest && readInput(newest.text);
  }
  const { payloads } = await fabric.getTrace(callId, request);
  const last = payloads.findLast(({ kind, cut }) => kind === 'policy_input' && !cut);
  return last && readInput(last.text);
};

const EVERYBODY: Flags = {
  everybody: { type: 'boolean', help: "of the whole tenant's calls; needs a token with the right policy:replay" },
};

const told = ({ verdict, rule, strength }: Told): string =>
  `${verdict}${strength === undefined ? '' : ` (${strength})`} by ${rule}`;

const factLines = ({ facts, task, tool, actor }: PolicyInput): string[] => [
  `${tool.name}@${tool.version} for ${actor.user} / ${actor.agent}, ${facts.environment}`,
  `risk ${facts.risk}${facts.raisedBy.length === 0 ? '' : `, raised by ${facts.raisedBy.join(', ')}`}`,
  ...(facts.resource === undefined ? [] : [`on ${facts.resource}`]),
  ...(facts.hosts.length === 0 ? [] : [`hosts ${facts.hosts.join(', ')}`]),
  ...(task.permittedHosts?.length ? [`permitted to the task ${task.permittedHosts.join(', ')}`] : []),
  ...(facts.writes.length === 0 ? [] : [`writes ${facts.writes.join(', ')}`]),
  ...(facts.taint.length === 0 ? [] : [`after reading ${facts.taint.map(({ origin }) => origin).join(', ')}`]),
];

const stepLines = ({ steps }: PolicyExplanation): string[] =>
  steps.map(({ approval, allowed, rules }) => {
    const yes = approval === 'none' ? 'without a yes' : approval === 'confirm' ? 'with a yes' : 'with a strong yes';
    return `  ${yes.padEnd(18)} ${allowed ? 'allowed' : 'denied '}  ${rules.join(', ') || 'no rule permits it'}`;
  });

const explainBy = async (input: PolicyInput, folder: string | undefined, context: Parameters<Verb['run']>[0]) => {
  if (folder === undefined) return undefined;
  const [{ contractsOf, engineOf, openFolder }, { questionAgain }] = await Promise.all([
    import('../policy/policy-folder.ts'),
    import('@toolfabric/policy-cedar'),
  ]);
  const contracts = contractsOf(context.args);
  const question = questionAgain(input, contracts);
  return question && engineOf(openFolder(folder).active, contracts).explain(question);
};

/** `toolfabric policy explain`: the decision about a past call, and how a folder of policies comes to its own. */
export const policyExplain = (flags: Flags): Verb => ({
  name: 'policy explain',
  summary: 'Say what the decision about a past call was made of, and which rules speak.',
  usage: '<call id>',
  positionals: [1, 1],
  flags: {
    policies: { type: 'string', value: 'DIR', help: 'put the question to these policies, step by step' },
    ...EVERYBODY,
    ...flags,
    ...CONNECT_FLAGS,
  },
  run: (context) =>
    withFabric(context, async (fabric, request) => {
      const { args, output } = context;
      const callId = args.positionals[0] ?? '';
      const input = await inputOf(fabric, callId, request, args.on('everybody'));
      if (input === undefined) {
        output.show({ callId }, `${callId}: no decision of it is stored; traces come a moment later`);
        return EXIT.toolError;
      }
      const again = await explainBy(input, args.text('policies'), context);
      const was = `${told(input)}, policy ${input.policyVersion}`;
      const steps = again === undefined ? [] : ['', 'by these policies:', ...stepLines(again)];
      output.show(
        { callId, input, ...(again === undefined ? {} : { again }) },
        [was, ...factLines(input), ...steps].join('\n'),
      );
      return EXIT.ok;
    }),
});

const MOST_CALLS = 10_000;

/** The newest first, page by page. */
async function* pastCalls(fabric: FabricClient, since: number | undefined, most: number, request: RequestOptions) {
  let after: string | undefined;
  for (let seen = 0; seen < most; ) {
    const page = await fabric.listCalls(
      {
        limit: Math.min(100, most - seen),
        ...(since === undefined ? {} : { since }),
        ...(after === undefined ? {} : { after }),
      },
      request,
    );
    yield* page.calls;
    seen += page.calls.length;
    if (page.next === undefined || page.calls.length === 0) return;
    after = page.next;
  }
}

interface Past {
  readonly callId: string;
  readonly input: PolicyInput | undefined;
}

/** The decisions of everybody, the newest first; one call may have several. */
async function* everyDecision(
  fabric: FabricClient,
  since: number | undefined,
  most: number,
  request: RequestOptions,
): AsyncGenerator<Past> {
  let after: string | undefined;
  for (let seen = 0; seen < most; ) {
    const filter = { limit: Math.min(50, most - seen), ...(since === undefined ? {} : { since }) };
    const page = await fabric.listDecisions({ ...filter, ...(after === undefined ? {} : { after }) }, request);
    for (const { callId, text, cut } of page.decisions)
      yield { callId, input: cut ? undefined : await readInput(text) };
    seen += page.decisions.length;
    if (page.next === undefined || page.next === after) return;
    after = page.next;
  }
}

/** Those of the own calls. */
async function* ownDecisions(
  fabric: FabricClient,
  since: number | undefined,
  most: number,
  request: RequestOptions,
): AsyncGenerator<Past> {
  for await (const { callId } of pastCalls(fabric, since, most, request))
    yield { callId, input: await inputOf(fabric, callId, request, false) };
}

/** `toolfabric policy replay`: which decisions about past calls a folder of policies would turn. */
export const policyReplay = (flags: Flags): Verb => ({
  name: 'policy replay',
  summary: 'Put past calls to a folder of policies, and show every decision that would flip.',
  usage: '<folder>',
  positionals: [1, 1],
  flags: {
    since: { type: 'string', value: 'TIME', help: 'calls ended since; a date, or a span back such as 2h' },
    limit: { type: 'string', value: 'N', help: `calls at most, the newest (${MOST_CALLS / 10})` },
    ...EVERYBODY,
    ...flags,
    ...CONNECT_FLAGS,
  },
  notes: 'Of the calls of this token, or of everybody. Exit code 0 when nothing would flip, 1 when something would.',
  run: (context) =>
    withFabric(context, async (fabric, request) => {
      const { args, output } = context;
      const [{ contractsOf, engineOf, openFolder }, { replayDecision }] = await Promise.all([
        import('../policy/policy-folder.ts'),
        import('@toolfabric/policy-cedar'),
      ]);
      const contracts = contractsOf(args);
      const engine = engineOf(openFolder(args.positionals[0] ?? '.').active, contracts);
      const flips: { callId: string; tool: string; was: Told; would: Told }[] = [];
      const count = { replayed: 0, left: 0 };
      const most = args.integer('limit', 1, MOST_CALLS) ?? MOST_CALLS / 10;
      const since = timeOf(args, 'since', Date.now());
      const past = args.on('everybody') ? everyDecision : ownDecisions;
      for await (const { callId, input } of past(fabric, since, most, request)) {
        const replayed = input && replayDecision(engine, input, contracts);
        count[replayed === undefined ? 'left' : 'replayed'] += 1;
        if (replayed?.flips && input)
          flips.push({ callId, tool: input.tool.name, was: replayed.was, would: replayed.would });
      }
      const lines = flips.map(({ callId, tool, was, would }) => `${callId}  ${tool}  ${told(was)} → ${told(would)}`);
      const left = count.left === 0 ? '' : `, ${count.left} without a stored question or with another contract`;
      const all = `${flips.length} of ${count.replayed} decisions would flip${left}`;
      output.show({ ...count, flips }, [...lines, all].join('\n'));
      return flips.length === 0 ? EXIT.ok : EXIT.toolError;
    }),
});
