import { ERROR_TABLE, type Outcome } from '@toolfabric/contract';
import { FabricError } from '@toolfabric/kernel';
import { type AnyTool, defineTool, type ProbeAnswer, type ToolContext } from '@toolfabric/worker-runtime';
import { z } from 'zod';
import { askTracker, type TrackerAnswer } from './ask-tracker.ts';

const OneIssue = z.strictObject({ number: z.int() });
const Search = z.strictObject({ number: z.int(), key: z.string().optional() });
const Comment = z.strictObject({ number: z.int(), body: z.string(), key: z.string() });
type Comment = z.infer<typeof Comment>;

const Found = z.looseObject({ id: z.string(), issue: z.int(), key: z.string(), body: z.string() });
const Comments = z.looseObject({ comments: z.array(Found) });
const Issue = z.looseObject({ state: z.enum(['open', 'closed']) });

const said = (number: number, summary: string, data: unknown): Outcome => ({
  status: 'ok',
  summary,
  data: data as NonNullable<Outcome['data']>,
  sideEffect: 'none',
  trust: 'untrusted',
  origin: `tracker:issue:${number}`,
});

const receiptOf = (found: z.infer<typeof Found>): Outcome => ({
  status: 'ok',
  summary: `comment ${found.id} stands at issue ${found.issue}`,
  data: { id: found.id, issue: found.issue, key: found.key },
  sideEffect: 'confirmed',
  trust: 'trusted',
  evidence: [{ kind: 'comment', ref: found.id, detail: `issue ${found.issue}` }],
});

const closedReceipt = (number: number): Outcome => ({
  status: 'ok',
  summary: `issue ${number} is closed`,
  sideEffect: 'confirmed',
  trust: 'trusted',
  evidence: [{ kind: 'issue', ref: String(number), detail: 'closed' }],
});

/** A refusal in so many words: nothing was written. Anything else that is no receipt is thrown: nobody knows. */
const refusalOf = ({ status, retryAfterMs }: TrackerAnswer): Outcome => {
  if (status < 400 || status >= 500) throw new FabricError('tool_failed', `the tracker answered ${status}`);
  const type = status === 429 ? 'overloaded' : status === 404 ? 'not_found' : 'tool_failed';
  const { layer, retryable, hint } = ERROR_TABLE[type];
  const message = `the tracker refused with ${status}`;
  return {
    status: 'error',
    summary: message,
    sideEffect: 'none',
    trust: 'trusted',
    error: { type, layer, retryable, hint, message, ...(retryAfterMs === undefined ? {} : { retryAfterMs }) },
  };
};

const read = async (base: string, ctx: ToolContext, path: string): Promise<unknown> => {
  const { status, body, retryAfterMs = 0 } = await askTracker(base, { method: 'GET', path }, ctx.signal);
  if (status === 200) return body;
  if (status === 429) throw new FabricError('overloaded', 'the tracker limits its rate', { retryAfterMs });
  throw new FabricError(status === 404 ? 'not_found' : 'tool_failed', `the tracker answered ${status}`);
};

const pathOf = ({ number, key }: { number: number; key?: string | undefined }): string =>
  `/issues/${number}/comments${key === undefined ? '' : `?key=${encodeURIComponent(key)}`}`;

const comment = async (base: string, ctx: ToolContext, { number, body, key }: Comment): Promise<Outcome> => {
  await ctx.beginEffect({ number, key });
  const headers = { 'idempotency-key': ctx.operationKey };
  const question = { method: 'POST', path: `/issues/${number}/comments`, body: { body, key }, headers } as const;
  const answer = await askTracker(base, question, ctx.signal);
  ctx.faults.at('worker.after-write');
  if (answer.status !== 201 && answer.status !== 200) return refusalOf(answer);
  return receiptOf(Found.parse(answer.body));
};

const probeComment = async (base: string, ctx: ToolContext, { number, key }: Comment): Promise<ProbeAnswer> => {
  const { comments } = Comments.parse(await read(base, ctx, pathOf({ number, key })));
  const [found] = comments;
  return found === undefined ? { answer: 'absent', fence: false } : { answer: 'found', receipt: receiptOf(found) };
};

const close = async (base: string, ctx: ToolContext, number: number): Promise<Outcome> => {
  await ctx.beginEffect({ number });
  const question = { method: 'PATCH', path: `/issues/${number}`, body: { state: 'closed' } } as const;
  const answer = await askTracker(base, question, ctx.signal);
  ctx.faults.at('worker.after-write');
  return answer.status === 200 ? closedReceipt(number) : refusalOf(answer);
};

const probeClose = async (base: string, ctx: ToolContext, number: number): Promise<ProbeAnswer> => {
  const { state } = Issue.parse(await read(base, ctx, `/issues/${number}`));
  return state === 'closed' ? { answer: 'found', receipt: closedReceipt(number) } : { answer: 'absent', fence: false };
};

/** Tools of the pool `tracker`; `base` is the address of the tracker, such as `http://127.0.0.1:4000`. */
export const trackerTools = (base: string): AnyTool[] => {
  const write = (handler: string, probed = true) =>
    defineTool<Comment>({
      handler,
      effect: 'outside',
      args: Comment,
      handle: (ctx, args) => comment(base, ctx, args),
      ...(probed ? { probe: (ctx: ToolContext, args: Comment) => probeComment(base, ctx, args) } : {}),
    });
  return [
    defineTool({
      handler: 'issue.read',
      effect: 'none',
      args: OneIssue,
      handle: async (ctx, { number }) => said(number, `issue ${number}`, await read(base, ctx, `/issues/${number}`)),
    }),
    defineTool({
      handler: 'issue.comments',
      effect: 'none',
      args: Search,
      handle: async (ctx, args) => said(args.number, 'comments', await read(base, ctx, pathOf(args))),
    }),
    write('issue.comment'),
    write('issue.comment_once'),
    write('issue.comment_asked', false),
    write('issue.comment_kept', false),
    write('issue.note'),
    defineTool({
      handler: 'issue.close',
      effect: 'outside',
      args: OneIssue,
      handle: (ctx, { number }) => close(base, ctx, number),
      probe: (ctx, { number }) => probeClose(base, ctx, number),
    }),
  ];
};
