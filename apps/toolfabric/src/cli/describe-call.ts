import type { CallView } from '@toolfabric/contract';

/** A call that was refused early has no version yet. */
const toolOf = ({ tool: { name, version } }: CallView): string => (version === '' ? name : `${name}@${version}`);

/** A call as a person reads it: what happened first, proof next, the data last. */
export const describeCall = (call: CallView): string => {
  const { result } = call;
  const took = result?.usage?.durationMs;
  const lines = [
    `${call.callId}  ${toolOf(call)}  ${call.state}${took === undefined ? '' : `  ${Math.round(took)} ms`}`,
  ];
  if (!result) return lines.join('\n');
  lines.push(result.summary);
  if (call.state === 'awaiting_approval' && call.approvalId !== undefined)
    lines.push(`approval ${call.approvalId} (another person: toolfabric approvals show ${call.approvalId})`);
  if (result.error) lines.push(...describeError(result.error));
  if (result.sideEffect !== 'none') lines.push(`side effect: ${result.sideEffect}`);
  for (const { kind, ref, detail } of result.evidence ?? [])
    lines.push(`evidence: ${kind} ${ref}${detail ? ` (${detail})` : ''}`);
  for (const { stream, kept, total, unit } of result.truncation ?? [])
    lines.push(`cut: ${stream}, ${kept} of ${total} ${unit}`);
  for (const block of result.content ?? []) lines.push(...describeBlock(block));
  if (result.data !== undefined) lines.push('', JSON.stringify(result.data, null, 2));
  return lines.join('\n');
};

const describeBlock = (block: NonNullable<NonNullable<CallView['result']>['content']>[number]): string[] => {
  if (block.type === 'text') return ['', block.text];
  if (block.type === 'file') return [`artifact ${block.artifact}  ${block.name}  (${block.mediaType})`];
  return ['', `[${block.type}]`];
};

export const describeError = ({
  type,
  message,
  hint,
  fields,
}: NonNullable<NonNullable<CallView['result']>['error']>): string[] => [
  `error: ${type}: ${message}`,
  ...(fields ?? []).map(
    ({ field, expected, got }) =>
      `  ${field || '(whole)'}: expected ${expected}${got === undefined ? '' : `, got ${got}`}`,
  ),
  ...(hint === undefined ? [] : [`hint: ${hint}`]),
];
