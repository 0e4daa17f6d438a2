import type { ApprovalRecord, CallRecord } from '@toolfabric/contract';
import { FabricError } from '@toolfabric/kernel';
import { markPattern } from '@toolfabric/results';

/**
 * Throws `invalid_arguments` where new arguments hold what a person was shown in the place of a secret: they would send
 * the mark, and not what it stands for.
 */
export const refuseMarks = ({ preview = '' }: ApprovalRecord, old: CallRecord['args'], args: unknown): void => {
  const before = JSON.stringify(old);
  const wanted = JSON.stringify(args) ?? '';
  const sent = (preview.match(markPattern()) ?? []).find((mark) => wanted.includes(mark) && !before.includes(mark));
  if (sent === undefined) return;
  throw new FabricError('invalid_arguments', `${sent} stands for a secret that was hidden; send the secret itself`, {
    fields: [{ field: '', expected: 'arguments as they are to be used', got: 'a mark' }],
  });
};
