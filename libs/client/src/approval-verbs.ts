import { uuidv7 } from '@toolfabric/kernel';
import {
  type Approval,
  type ApprovalServiceClient,
  approvalFromWire,
  batchOutcomeFromWire,
  callViewFromWire,
  type EditApprovalResponse,
  type ListApprovalsResponse,
} from '@toolfabric/proto';
import type { EditedApproval, FabricClient } from './client-types.ts';
import { present, type Requester } from './requester.ts';
import { watchApprovals } from './watch-approvals.ts';

type ApprovalVerbs = Pick<
  FabricClient,
  'listApprovals' | 'getApproval' | 'grantApproval' | 'denyApproval' | 'editApproval' | 'grantBatch' | 'watchApprovals'
>;

const pageOf = ({ approvals, next }: ListApprovalsResponse) => ({
  approvals: approvals.map(approvalFromWire),
  ...(next === undefined ? {} : { next }),
});

const oneOf = ({ approval }: { approval: Approval | undefined }) => approvalFromWire(present(approval));

const editedOf = ({ approval, replaced, call }: EditApprovalResponse): EditedApproval => ({
  approval: approvalFromWire(present(approval)),
  replaced: approvalFromWire(present(replaced)),
  call: callViewFromWire(present(call)),
});

export const approvalVerbs = (client: ApprovalServiceClient, requester: Requester): ApprovalVerbs => ({
  listApprovals: ({ decided = false, after, limit } = {}, options = {}) =>
    requester.ask(client.listApprovals.bind(client), { decided, after, limit }, pageOf, options),
  getApproval: (approvalId, options = {}) =>
    requester.ask(client.getApproval.bind(client), { approvalId }, oneOf, options),
  grantApproval: (approvalId, reason, options = {}) =>
    requester.ask(client.grantApproval.bind(client), { approvalId, reason }, oneOf, options),
  denyApproval: (approvalId, reason, options = {}) =>
    requester.ask(client.denyApproval.bind(client), { approvalId, reason }, oneOf, options),
  editApproval(approvalId, { args, requestKey = uuidv7(), reason }, options = {}) {
    const request = { approvalId, requestKey, argumentsJson: JSON.stringify(args), reason };
    return requester.ask(client.editApproval.bind(client), request, editedOf, options);
  },
  grantBatch({ callIds, scope, risk, until, reason }, options = {}) {
    const request = { callIds: [...callIds], scope, risk, untilMs: until, reason };
    return requester.ask(
      client.grantBatch.bind(client),
      request,
      ({ batchId, outcomes }) => ({ batchId, outcomes: outcomes.map(batchOutcomeFromWire) }),
      options,
    );
  },
  watchApprovals: (options = {}) => watchApprovals(client, requester, options),
});
