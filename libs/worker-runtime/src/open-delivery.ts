import { CLOCK_LEEWAY_MS, Envelope, WORK_TYPE, WorkBody } from '@toolfabric/contract';
import type { Delivery } from '@toolfabric/ports';
import type { WorkerContext } from './worker-context.ts';

export type OpenedDelivery =
  | { readonly ok: true; readonly body: WorkBody }
  | { readonly ok: false; readonly reason: string };

const refuse = (reason: string): OpenedDelivery => ({ ok: false, reason });

const parseJson = (text: string): unknown => {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
};

/** The tenant in the subject `work.<kind>.<priority>.<tenant>`, or of a pinned one, is its last token. */
const tenantOf = (subject: string): string => subject.slice(subject.lastIndexOf('.') + 1);

/**
 * Protocol 6, first row: only a message that the router signed for exactly this subject, kind and tenant, and that is
 * still fresh, is looked at any further. The signature is verified over the bytes before the body is parsed.
 */
export const openDelivery = (ctx: WorkerContext, delivery: Delivery): OpenedDelivery => {
  const envelope = Envelope.safeParse(parseJson(Buffer.from(delivery.data).toString('utf8')));
  if (!envelope.success) return refuse('not an envelope');
  const text = ctx.verifier.open(envelope.data, WORK_TYPE, 'router');
  if (text === undefined) return refuse('signature not valid for a work message of a router');
  const parsed = WorkBody.safeParse(parseJson(text));
  if (!parsed.success) return refuse('body of the wrong shape');
  const body = parsed.data;
  if (body.subject !== delivery.subject) return refuse('signed for another subject');
  if (body.kind !== ctx.kind) return refuse('of another kind');
  if (body.tenant !== tenantOf(delivery.subject) || body.tenant !== body.actor.tenant)
    return refuse('of another tenant');
  if (ctx.clock.now() > body.expires + CLOCK_LEEWAY_MS) return refuse('signature expired');
  if (!ctx.tools.has(body.handler)) return refuse('no such handler in this worker');
  return { ok: true, body };
};
