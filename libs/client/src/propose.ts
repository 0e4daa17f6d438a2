import { uuidv7 } from '@toolfabric/kernel';
import { callLimitsToWire, priorityToWire, type wireCall } from '@toolfabric/proto';
import type { Proposal } from './client-types.ts';

/** The message of a proposal. Its request key is made here once, so that every retry carries the same one. */
export const proposalToWire = (proposal: Proposal): wireCall.CallProposal => ({
  requestKey: proposal.requestKey ?? uuidv7(),
  taskId: proposal.taskId,
  tool: proposal.tool,
  argumentsJson: typeof proposal.args === 'string' ? proposal.args : JSON.stringify(proposal.args),
  operationKey: proposal.operationKey,
  deadlineMs: proposal.deadlineMs,
  limits: proposal.limits === undefined ? undefined : callLimitsToWire(proposal.limits),
  priority: priorityToWire(proposal.priority),
  turn: proposal.turn,
  modelCallId: proposal.modelCallId,
  model: proposal.model,
  catalogueDigest: proposal.catalogueDigest,
  repairs: proposal.repairs,
  background: proposal.background,
});
