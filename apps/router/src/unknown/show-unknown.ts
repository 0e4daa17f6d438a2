import type { CallRecord, Claim, UnknownCall, UnknownEntry } from '@toolfabric/contract';
import { renderPreview } from '@toolfabric/governance';
import { redactionRulesOf } from '@toolfabric/results';
import { readClaim } from '../claims.ts';
import { isReconciling } from '../close-call.ts';
import type { RouterContext, StoredCall } from '../router-context.ts';

const MAX_WHAT = 8_000;

/** In the words of its contract, with its arguments (PO-3); secrets stand as marks (RS-5). */
const whatOf = async (ctx: RouterContext, { actor, args, decision, risk, tool }: CallRecord): Promise<string> => {
  const contract = await ctx.contractOf(tool);
  const { account, resource, raisedBy = [] } = decision;
  const { text } = renderPreview({
    actor,
    contract,
    args,
    risk: risk ?? contract.governance.risk,
    raisedBy,
    ...(account === undefined ? {} : { account }),
    ...(resource === undefined ? {} : { resource }),
    files: [],
    hide: ctx.hideFor(actor.tenant, redactionRulesOf(contract.governance)),
  });
  return text.length <= MAX_WHAT ? text : `${text.slice(0, MAX_WHAT)}\n… the rest does not fit here and is not shown`;
};

const view = (
  ctx: RouterContext,
  call: CallRecord,
  claim: Claim | undefined,
  what: string,
  left: UnknownEntry['left'],
): UnknownCall => {
  const { callId, taskId, actor, tool, risk, decision, result, probe } = call;
  return {
    callId,
    taskId,
    actor,
    tool: { name: tool.name, version: tool.version },
    ...(risk === undefined ? {} : { risk }),
    createdAt: call.createdAt,
    unknownAt: call.unknownAt ?? call.settledAt ?? call.createdAt,
    epoch: call.epoch,
    summary: result?.summary ?? '',
    what,
    ...(decision.resource === undefined
      ? {}
      : { resource: ctx.hideFor(actor.tenant).text(decision.resource).slice(0, 500) }),
    ...(decision.account === undefined ? {} : { account: decision.account }),
    ...(result?.evidence === undefined ? {} : { evidence: result.evidence }),
    reconciling: isReconciling(call),
    asked: probe?.asked ?? 0,
    ...(probe?.last === undefined ? {} : { answered: probe.last }),
    doubt: claim?.doubt === true,
    ...(left === undefined ? {} : { left }),
  };
};

export const showUnknown = async (
  ctx: RouterContext,
  call: StoredCall,
  entry: UnknownEntry | undefined,
): Promise<UnknownCall> =>
  view(ctx, call.value, await readClaim(ctx, call), await whatOf(ctx, call.value), entry?.left);

/** Characters of what a listing says about one call. */
const MAX_LISTED = 400;

/** For a listing: its first lines. */
export const listedUnknown = (shown: UnknownCall): UnknownCall => ({
  ...shown,
  summary: shown.summary.slice(0, MAX_LISTED),
  what: shown.what.slice(0, MAX_LISTED),
});
