import { once } from 'node:events';
import type { ServerWritableStream } from '@grpc/grpc-js';
import type { ApprovalRecord, RpcReply } from '@toolfabric/contract';
import { FabricError } from '@toolfabric/kernel';
import { approvalToWire, approvalViewOf, type WatchApprovalsResponse } from '@toolfabric/proto';
import type { ApprovalServiceDeps } from './approval-service.ts';
import { approverOf } from './approver-of.ts';
import { unauthenticated } from './authenticate.ts';
import { patienceOf, type RequestContext } from './request-context.ts';

type Page = RpcReply<'listApprovals'>;
type Out = Pick<ServerWritableStream<unknown, WatchApprovalsResponse>, 'write' | 'once'>;

const PAGE = 100;

/** Every page of a listing, each asked for when the one before was sent. */
async function* pagesOf(deps: ApprovalServiceDeps, context: RequestContext, since?: number): AsyncGenerator<Page> {
  const ask = (after: string | undefined) => {
    const asked = { ...(since === undefined ? {} : { since }), ...(after === undefined ? {} : { after }) };
    const request = { approver: approverOf(context.identity), decided: false, limit: PAGE, ...asked };
    return deps.router.ask('listApprovals', request, patienceOf(deps.pace)(context));
  };
  for (let after: string | undefined; ; ) {
    const page = await ask(after);
    yield page;
    after = page.next;
    if (after === undefined) return;
  }
}

/** No faster than the watcher reads. */
const send = async (out: Out, approval: ApprovalRecord, gone: AbortSignal): Promise<void> => {
  if (out.write({ approval: approvalToWire(approvalViewOf(approval)) })) return;
  await once(out as never, 'drain', { signal: gone }).catch(() => {});
};

/** What changed since `since`; a router that does not answer is asked again at the next turn. */
const sendChanges = async (
  deps: ApprovalServiceDeps,
  context: RequestContext,
  out: Out,
  since: number | undefined,
  gone: AbortSignal,
): Promise<number | undefined> => {
  let seen: number | undefined;
  try {
    for await (const { approvals, revision } of pagesOf(deps, context, since)) {
      // What changes while the first listing goes on is told by the next one: so its beginning counts.
      seen = since === undefined ? (seen ?? revision) : revision;
      for (const approval of approvals) await send(out, approval, gone);
      if (gone.aborted) break;
    }
    return seen;
  } catch (thrown) {
    if (thrown instanceof FabricError && thrown.type === 'unavailable' && since !== undefined) return since;
    throw thrown;
  }
};

/**
 * Sends what waits for this person, then every change, as the routers see them, until the watcher goes away. An
 * approval may be told twice; its state is then the same.
 */
export const watchApprovals = async (deps: ApprovalServiceDeps, context: RequestContext, out: Out): Promise<void> => {
  const { clock, pace, stopping } = deps;
  const left = new AbortController();
  const stopOnGone = context.onGone(() => left.abort());
  const gone = AbortSignal.any([left.signal, stopping]);
  try {
    let since: number | undefined;
    while (!gone.aborted && !context.isGone()) {
      since = await sendChanges(deps, context, out, since, gone);
      await clock.sleep(pace.waitPollMs, gone);
      if (!context.identity.isCurrent()) throw unauthenticated();
    }
    if (stopping.aborted) throw new FabricError('unavailable', 'this gateway is stopping');
  } finally {
    stopOnGone();
  }
};
