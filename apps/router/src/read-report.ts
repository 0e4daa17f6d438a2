import { compileQuery, type QueryReader } from '@toolfabric/catalogue';
import { type CallRecord, Outcome, type ToolContract, type ToolRef } from '@toolfabric/contract';
import { probeCallId } from '@toolfabric/ledger';
import { z } from 'zod';
import { judgeOf } from './judge-output.ts';
import type { RouterContext } from './router-context.ts';

/** What a probe answers, in the data of its outcome. */
const ProbeReport = z.discriminatedUnion('answer', [
  z.looseObject({ answer: z.literal('found'), receipt: Outcome }),
  z.looseObject({ answer: z.literal('absent'), fence: z.boolean() }),
  z.looseObject({ answer: z.literal('not_visible'), reason: z.string() }),
]);

/** What a question brought to light. A receipt of the tool's own probe is judged like its answers. */
export type Report =
  | { readonly answer: 'found'; readonly receipt: Outcome; readonly by: 'probe' | 'query' }
  | { readonly answer: 'absent'; readonly fence: boolean }
  | { readonly answer: 'not_visible' | 'failed' };

const FAILED: Report = { answer: 'failed' };

/** A contract never changes, so its query is compiled once. */
const compiled = new WeakMap<ToolContract, QueryReader>();

const readerOf = (contract: ToolContract): QueryReader | undefined => {
  const known = compiled.get(contract);
  const query = contract.governance.reconcile?.query;
  if (known !== undefined || query === undefined) return known;
  const reader = compileQuery(query);
  compiled.set(contract, reader);
  return reader;
};

/** What was found stands at the other side under that id; the answer itself is not the answer of the tool. */
const receiptOf = (call: CallRecord, tool: ToolRef, n: number, id: string, { evidence = [] }: Outcome): Outcome => ({
  status: 'ok',
  summary: `It happened: ${tool.name} found ${id}.`.slice(0, 1_000),
  sideEffect: 'confirmed',
  trust: 'trusted',
  evidence: [
    { kind: 'resource', ref: id },
    { kind: 'query', ref: probeCallId(call.callId, n), detail: `${tool.name}@${tool.version}` },
    ...evidence.slice(0, 8),
  ],
});

const readQuery = async (ctx: RouterContext, call: CallRecord, tool: ToolRef, n: number, outcome: Outcome) => {
  const reader = readerOf(await ctx.contractOf(call.tool));
  if (reader === undefined) return FAILED;
  const judge = await judgeOf(ctx, tool);
  const said = reader(judge(outcome));
  if (said.answer === 'found')
    return { ...said, receipt: receiptOf(call, tool, n, said.id, outcome), by: 'query' as const };
  return said.answer === 'absent' ? { ...said, fence: false } : said;
};

/** The answer to the n-th question about a call. */
export const readReport = async (
  ctx: RouterContext,
  call: CallRecord,
  n: number,
  outcome: Outcome,
): Promise<Report> => {
  const query = call.reconcile?.query;
  if (query !== undefined) return readQuery(ctx, call, query, n, outcome);
  const report = ProbeReport.safeParse(outcome.data);
  if (!report.success) return FAILED;
  return report.data.answer === 'found' ? { ...report.data, by: 'probe' } : report.data;
};
