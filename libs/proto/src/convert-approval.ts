import {
  type ApprovalRecord,
  ApprovalState,
  ApprovalStrength,
  type ApprovalView,
  type BatchOutcome,
} from '@toolfabric/contract';
import { toolIdFromWire } from './convert-result.ts';
import { enumCodec, WireMismatch } from './enum-codec.ts';
import * as wire from './gen/toolfabric/v1/approval_service.ts';

const states = enumCodec('approval state', wire.ApprovalState, ApprovalState.options);
const strengths = enumCodec('approval strength', wire.ApprovalStrength, ApprovalStrength.options);

/** What people outside see of it. */
export const approvalViewOf = (record: ApprovalRecord): ApprovalView => {
  const { boundSha256: _bound, told: _told, approver: _approver, grants = [], decidedBy, ...rest } = record;
  return {
    ...rest,
    taskId: record.taskId ?? '',
    tool: record.tool ?? { name: '', version: '' },
    risk: record.risk ?? '',
    strength: record.strength ?? 'confirm',
    rule: record.rule ?? '',
    preview: record.preview ?? '',
    whole: record.whole ?? false,
    files: record.files ?? [],
    createdAt: record.createdAt ?? 0,
    ...(decidedBy === undefined ? {} : { decidedBy: decidedBy.user }),
    grantedBy: grants.map(({ user }) => user),
  };
};

export const approvalToWire = ({ createdAt, expiresAt, decidedAt, ...view }: ApprovalView): wire.Approval => ({
  ...view,
  state: states.toWire(view.state) as wire.ApprovalState,
  strength: strengths.toWire(view.strength) as wire.ApprovalStrength,
  resource: view.resource,
  account: view.account,
  decidedBy: view.decidedBy,
  reason: view.reason,
  batchId: view.batchId,
  replacedBy: view.replacedBy,
  createdAtMs: createdAt,
  expiresAtMs: expiresAt,
  decidedAtMs: decidedAt,
});

const defined = <T extends object>(fields: T): { [K in keyof T]?: Exclude<T[K], undefined> } =>
  Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as never;

/** Throws `WireMismatch` for a state or strength that this side does not know, and without an actor. */
export const approvalFromWire = (approval: wire.Approval): ApprovalView => {
  const { createdAtMs, expiresAtMs, decidedAtMs, resource, account, decidedBy, reason, batchId, replacedBy, ...rest } =
    approval;
  if (rest.actor === undefined) throw new WireMismatch('an approval without an actor');
  return {
    ...rest,
    actor: rest.actor,
    state: states.fromWire(rest.state),
    strength: strengths.fromWire(rest.strength),
    tool: toolIdFromWire(rest.tool),
    createdAt: createdAtMs,
    expiresAt: expiresAtMs,
    ...defined({ decidedAt: decidedAtMs, resource, account, decidedBy, reason, batchId, replacedBy }),
  };
};

export const batchOutcomeToWire = (outcome: BatchOutcome): wire.BatchOutcome => ({
  ...outcome,
  state: states.toWire(outcome.state) as wire.ApprovalState,
});

export const batchOutcomeFromWire = (outcome: wire.BatchOutcome): BatchOutcome => ({
  ...outcome,
  state: states.fromWire(outcome.state),
});
