import { type ApprovalRecord, CallId, RiskGroup, type RpcRequest } from '@toolfabric/contract';
import { type Clock, type Pace, requestKeyTime } from '@toolfabric/kernel';
import {
  type ApprovalServiceServer,
  approvalToWire,
  approvalViewOf,
  batchOutcomeToWire,
  callViewToWire,
} from '@toolfabric/proto';
import { approverOf } from './approver-of.ts';
import type { FrontDoor } from './front-door.ts';
import { invalidField } from './invalid-request.ts';
import { readArguments } from './read-proposal.ts';
import { patienceOf, type RequestContext } from './request-context.ts';
import type { RouterClient } from './router-client.ts';
import { watchApprovals } from './watch-approvals.ts';

export interface ApprovalServiceDeps {
  readonly door: FrontDoor;
  readonly router: RouterClient;
  readonly clock: Clock;
  readonly pace: Pace;
  /** Aborted when this gateway stops. */
  readonly stopping: AbortSignal;
}

const DEFAULT_LIMIT = 50;
type JsonValue = RpcRequest<'editApproval'>['args'];

const ID = /^[a-z0-9-]{1,64}$/;

const checkedId = (approvalId: string): string => {
  if (!ID.test(approvalId)) throw invalidField('approval_id', 'the id of an approval');
  return approvalId;
};

const onWire = (record: ApprovalRecord) => approvalToWire(approvalViewOf(record));

const optional = (reason: string | undefined) => (reason === undefined ? {} : { reason });

const riskOf = (risk: string) => {
  const known = RiskGroup.safeParse(risk);
  if (!known.success) throw invalidField('risk', `one of ${RiskGroup.options.join(', ')}`);
  return known.data;
};

/** What people are asked and what they answer. Who may do what is decided by the router, by rights and by who asked. */
export const createApprovalService = (deps: ApprovalServiceDeps): ApprovalServiceServer => {
  const { door, router, pace, clock } = deps;
  const patience = patienceOf(pace);
  const decide =
    (verdict: 'grant' | 'deny') =>
    async ({ approvalId, reason }: { approvalId: string; reason?: string | undefined }, context: RequestContext) => {
      const approver = approverOf(context.identity);
      const request = { approver, approvalId: checkedId(approvalId), verdict, ...optional(reason) };
      return { approval: onWire(await router.ask('decideApproval', request, patience(context))) };
    };
  return {
    listApprovals: door.unary(async ({ decided, after, limit = DEFAULT_LIMIT }, context) => {
      const approver = approverOf(context.identity);
      const request = { approver, decided, limit, ...(after === undefined ? {} : { after }) };
      const { approvals, next } = await router.ask('listApprovals', request, patience(context));
      return { approvals: approvals.map(onWire), next };
    }),
    getApproval: door.unary(async ({ approvalId }, context) => {
      const request = { approver: approverOf(context.identity), approvalId: checkedId(approvalId) };
      return { approval: onWire(await router.ask('getApproval', request, patience(context))) };
    }),
    grantApproval: door.unary(decide('grant')),
    denyApproval: door.unary(decide('deny')),
    editApproval: door.unary(async ({ approvalId, requestKey, argumentsJson, reason }, context) => {
      requestKeyTime(requestKey, clock.now());
      const { args } = readArguments(argumentsJson);
      const approver = approverOf(context.identity);
      const request = {
        approver,
        approvalId: checkedId(approvalId),
        requestKey,
        args: args as JsonValue,
        ...optional(reason),
      };
      const { approval, replaced, call } = await router.ask('editApproval', request, patience(context));
      return { approval: onWire(approval), replaced: onWire(replaced), call: callViewToWire(call) };
    }),
    grantBatch: door.unary(async ({ callIds, scope, risk, untilMs, reason }, context) => {
      if (!callIds.every((callId) => CallId.safeParse(callId).success)) throw invalidField('call_ids', 'ids of calls');
      const approver = approverOf(context.identity);
      const request = { approver, callIds, scope, risk: riskOf(risk), until: untilMs, ...optional(reason) };
      const { batchId, outcomes } = await router.ask('decideBatch', request, patience(context));
      return { batchId, outcomes: outcomes.map(batchOutcomeToWire) };
    }),
    watchApprovals: door.stream((_request, context, out) => watchApprovals(deps, context, out)),
  };
};
