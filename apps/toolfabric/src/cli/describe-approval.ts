import type { ApprovalView } from '@toolfabric/contract';

const time = (ms: number): string => new Date(ms).toISOString().slice(0, 19);

/** One approval on one line, for a list. */
export const approvalLine = (approval: ApprovalView): string => {
  const { approvalId, state, tool, risk, strength, actor, resource, grantedBy } = approval;
  const waits = grantedBy.length > 0 && state === 'pending' ? `  yes of ${grantedBy.join(', ')}` : '';
  return [
    approvalId,
    state.padEnd(8),
    `${risk}${strength === 'strong' ? ' (strong)' : ''}`.padEnd(23),
    `${tool.name}@${tool.version}`.padEnd(28),
    `${actor.user}/${actor.agent}`,
    `${resource ?? '-'}${waits}`,
  ].join('  ');
};

const answersOf = ({ decidedBy, decidedAt, reason, replacedBy, batchId, grantedBy }: ApprovalView): string[] => [
  ...(grantedBy.length === 0 ? [] : [`first yes: ${grantedBy.join(', ')}`]),
  ...(decidedBy === undefined
    ? []
    : [`answered by ${decidedBy}${decidedAt === undefined ? '' : `, ${time(decidedAt)}`}`]),
  ...(reason === undefined ? [] : [`because: ${reason}`]),
  ...(batchId === undefined ? [] : [`in batch ${batchId}`]),
  ...(replacedBy === undefined ? [] : [`replaced by call ${replacedBy}`]),
];

/** As a person reads it before they answer: what is asked first, how to answer last. */
export const describeApproval = (approval: ApprovalView): string => {
  const { approvalId, state, callId, rule, whole, strength, expiresAt } = approval;
  const isStrong = strength === 'strong';
  return [
    `approval ${approvalId}  ${state}`,
    '',
    approval.preview,
    '',
    ...(whole ? [] : ['Not all of it is shown above: something is hidden, or was too long.']),
    ...(isStrong ? ['It needs a strong approval: a fresh authentication, or two persons.'] : []),
    `call ${callId}, asked for by the rule ${rule}; until ${time(expiresAt)}`,
    ...answersOf(approval),
  ].join('\n');
};
