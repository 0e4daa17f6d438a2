import { createHmac } from 'node:crypto';
import type { ApprovalRecord } from '@toolfabric/contract';
import { shardOf } from '@toolfabric/kernel';
import { approvalKey } from '@toolfabric/ledger';
import type { RouterContext } from '../router-context.ts';
import type { ApprovalBook, BookEntry } from './approval-book.ts';
import { changeApproval } from './change-approval.ts';
import { tellApproval } from './tell-approval.ts';

export interface WebhookConfig {
  /** Of the installation's configuration alone: no call, task or tenant can name another. */
  readonly url: string;
  readonly secret: Uint8Array;
}

export interface WebhookDeps {
  readonly ctx: RouterContext;
  readonly book: ApprovalBook;
  readonly config: WebhookConfig;
  /** Shards that this router sweeps: it tells of their calls, and nobody else does. */
  readonly shards: () => readonly number[];
}

/** How long the other side may take to answer, in milliseconds. */
const ANSWER_MS = 5_000;
const FIRST_PAUSE_MS = 500;
const LONGEST_PAUSE_MS = 120_000;
/** Tries of one notice, over more than half an hour; then it is given up, and logged. */
const MOST_TRIES = 20;
const AT_ONCE = 4;
/** Notices of one turn; the others come in the next. */
const A_TURN = 64;
/** Notices whose tries are remembered. */
const MOST_KNOWN = 10_000;

/** What is told: ids and names, never the preview or the arguments, which stay behind the front door. */
export const noticeOf = (approval: ApprovalRecord, at: number): string => {
  const { approvalId, callId, taskId, actor, tool, risk, strength, rule, resource, account, state } = approval;
  const { createdAt, expiresAt, decidedAt, decidedBy, batchId, replacedBy } = approval;
  const told = { approvalId, state, callId, taskId, ...actor, tool, risk, strength, rule, resource, account };
  const times = { createdAt, expiresAt, decidedAt, at };
  const id = `${approvalId}.${state}`;
  return JSON.stringify({ id, ...told, ...times, decidedBy: decidedBy?.user, batchId, replacedBy });
};

/** `t` is part of what is signed, so that a receiver can refuse what is old. */
export const signNotice = (secret: Uint8Array, t: number, body: string): string =>
  `t=${t},v1=${createHmac('sha256', secret).update(`${t}.${body}`).digest('hex')}`;

interface Tries {
  readonly count: number;
  readonly nextAt: number;
}

/**
 * Tells one address of the installation about each question and each answer, at least once: the approval itself
 * remembers what was told of it, so that a restart of either side repeats at most what was on its way.
 */
export class ApprovalWebhook {
  readonly #deps: WebhookDeps;
  readonly #tries = new Map<string, Tries>();

  constructor(deps: WebhookDeps) {
    this.#deps = deps;
  }

  /** One pass over what is not told yet; never throws for the other side's sake. */
  async turn(): Promise<void> {
    const due = this.#due();
    for (let from = 0; from < due.length; from += AT_ONCE)
      await Promise.all(due.slice(from, from + AT_ONCE).map((entry) => this.#tell(entry)));
  }

  #due(): BookEntry[] {
    const { book, shards, ctx } = this.#deps;
    const held = new Set(shards());
    const now = ctx.clock.monotonic();
    const isDue = (entry: BookEntry): boolean => {
      const tries = this.#tries.get(keyOf(entry));
      return tries === undefined || (tries.count < MOST_TRIES && tries.nextAt <= now);
    };
    return book.all
      .filter((entry) => entry.told !== entry.state && held.has(shardOf(entry.callId)) && isDue(entry))
      .slice(0, A_TURN);
  }

  async #tell(entry: BookEntry): Promise<void> {
    const { ctx } = this.#deps;
    const { actor, approvalId, state } = entry;
    const stored = await ctx.ports.approvals.get(approvalKey(actor.tenant, approvalId));
    // It has moved on since the book was read: the next turn tells what it is now.
    if (stored?.value.state !== state || stored.value.told === state) return;
    if (!(await this.#send(noticeOf(tellApproval(ctx, stored.value), ctx.clock.now())))) return this.#putOff(entry);
    this.#remember(entry, { count: MOST_TRIES, nextAt: 0 });
    await changeApproval(ctx, actor.tenant, approvalId, () => ({ type: 'told', state }));
  }

  /** Whether the other side has taken it. A redirect is none: the address is the one that was configured. */
  async #send(body: string): Promise<boolean> {
    const { config, ctx } = this.#deps;
    const headers = {
      'content-type': 'application/json',
      'toolfabric-signature': signNotice(config.secret, ctx.clock.now(), body),
    };
    const signal = AbortSignal.timeout(ANSWER_MS);
    try {
      const answer = await fetch(config.url, { method: 'POST', body, headers, redirect: 'manual', signal });
      await answer.body?.cancel();
      return answer.status >= 200 && answer.status < 300;
    } catch {
      return false;
    }
  }

  #putOff(entry: BookEntry): void {
    const { clock, log } = this.#deps.ctx;
    const count = (this.#tries.get(keyOf(entry))?.count ?? 0) + 1;
    const pause = Math.min(FIRST_PAUSE_MS * 2 ** (count - 1), LONGEST_PAUSE_MS) * (0.5 + Math.random() / 2);
    this.#remember(entry, { count, nextAt: clock.monotonic() + pause });
    if (count === 1) log.warn('approval.notice_failed', { approvalId: entry.approvalId });
    if (count >= MOST_TRIES) log.error('approval.notice_given_up', { approvalId: entry.approvalId });
  }

  #remember(entry: BookEntry, tries: Tries): void {
    this.#tries.delete(keyOf(entry));
    this.#tries.set(keyOf(entry), tries);
    const oldest = this.#tries.keys().next();
    if (this.#tries.size > MOST_KNOWN && !oldest.done) this.#tries.delete(oldest.value);
  }
}

const keyOf = ({ approvalId, state }: BookEntry): string => `${approvalId}.${state}`;
