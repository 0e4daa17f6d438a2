import type { ToolContract } from '@toolfabric/contract';
import { FabricError } from '@toolfabric/kernel';
import { personalFields } from '@toolfabric/results';

/**
 * PO-8: what a contract that allows no personal data is given. Throws `personal_data` with the fields and with what was
 * seen there, never with the text.
 */
export const checkPersonalData = (
  { name, governance }: ToolContract,
  args: Readonly<Record<string, unknown>>,
): void => {
  if (governance.pii_allowed) return;
  const seen = personalFields(args);
  if (seen.length === 0) return;
  const fields = seen.map(({ pointer, types }) => ({
    field: pointer.slice(0, 500),
    expected: 'no personal data',
    got: types.join(', '),
  }));
  const told = fields.slice(0, 3).map(({ field, got }) => `${field || 'the arguments'} (${got})`);
  throw new FabricError('personal_data', `${name} takes no personal data: ${told.join(', ')}`, { fields });
};
