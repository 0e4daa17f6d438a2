import type { ApprovalRecord, ApprovalStrength, CallRecord, RiskGroup } from '@toolfabric/contract';
import { boundDigest, renderPreview } from '@toolfabric/governance';
import { approvalKey, createRecord } from '@toolfabric/ledger';
import { redactionRulesOf } from '@toolfabric/results';
import { checkMessage } from '../check-call.ts';
import type { RouterContext } from '../router-context.ts';
import type { RouterServices } from '../router-services.ts';
import { emitApproval } from './approval-events.ts';
import { boundFiles } from './bound-files.ts';

/** How long a person may take, in milliseconds. */
const LIFE_MS = 3_600_000;
const SHORT_LIFE_MS = 600_000;

const isHeavy = (risk: RiskGroup): boolean => risk === 'irreversible' || risk === 'privileged';

/** What cannot be shown whole needs more than a glance. */
const strengthOf = ({ decision }: CallRecord, risk: RiskGroup, whole: boolean): ApprovalStrength =>
  decision.strength === 'strong' || isHeavy(risk) || !whole ? 'strong' : 'confirm';

/** What a person is to be shown, and all that their yes is bound to. */
export const approvalFor = async (services: RouterServices, call: CallRecord): Promise<ApprovalRecord | undefined> => {
  const { approvalId } = call;
  if (approvalId === undefined) return undefined;
  const { actor, args, decision, testCommand, tool } = call;
  const { ctx } = services;
  const contract = await ctx.contractOf(tool);
  const files = await boundFiles(services, contract, call);
  if (files.length > 0) checkMessage(call, files);
  const hide = ctx.hideFor(actor.tenant, redactionRulesOf(contract.governance));
  const { account, resource, raisedBy = [] } = decision;
  const risk = decision.risk ?? call.risk ?? contract.governance.risk;
  const about = { ...(account === undefined ? {} : { account }), ...(resource === undefined ? {} : { resource }) };
  const command = testCommand === undefined ? {} : { command: testCommand };
  const preview = renderPreview({ actor, contract, args, risk, raisedBy, files, hide, ...about, ...command });
  const now = ctx.clock.now();
  const shown = {
    rule: decision.rule,
    risk,
    strength: strengthOf(call, risk, preview.whole),
    preview: preview.text,
    ...about,
    ...(files.length === 0 ? {} : { files: [...files] }),
  };
  return {
    approvalId,
    actor,
    toolDigest: tool.digest,
    argsHash: call.argsHash,
    policyVersion: decision.policyVersion,
    state: 'pending',
    callId: call.callId,
    expiresAt: now + (isHeavy(risk) ? SHORT_LIFE_MS : LIFE_MS),
    taskId: call.taskId,
    tool: { name: tool.name, version: tool.version },
    whole: preview.whole,
    createdAt: now,
    ...shown,
    boundSha256: boundDigest(call, shown),
  };
};

/** Create-or-verify, before the call is accepted, so that a waiting call always has something to be decided. */
export const askForApproval = async (ctx: RouterContext, approval: ApprovalRecord | undefined): Promise<void> => {
  if (approval === undefined) return;
  const { actor, approvalId } = approval;
  const created = await createRecord(ctx.ports.approvals, approvalKey(actor.tenant, approvalId), approval, {
    clock: ctx.clock,
  });
  if (created.done) emitApproval(ctx, approval, 'approval.requested', 'approval.requested');
};
