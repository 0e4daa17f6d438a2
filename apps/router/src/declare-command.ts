import type { DeclaredCommand } from '@toolfabric/contract';
import { canonicalJson, FabricError, sha256Hex } from '@toolfabric/kernel';

/** Bytes of canonical JSON: a declared command travels in every work message that runs it. */
const MAX_COMMAND_BYTES = 4 * 1024;

/** The command with its digest. Throws `invalid_request` when it is too long, or leads out of its workspace. */
export const declareCommand = ({ argv, cwd }: Omit<DeclaredCommand, 'sha256'>): DeclaredCommand => {
  const command = { argv, ...(cwd === undefined ? {} : { cwd }) };
  const canonical = canonicalJson(command);
  const refuse = (field: string, expected: string) =>
    new FabricError('invalid_request', `${field}: ${expected}`, { fields: [{ field, expected }] });
  if (Buffer.byteLength(canonical) > MAX_COMMAND_BYTES)
    throw refuse('/testCommand/argv', `at most ${MAX_COMMAND_BYTES} bytes together with its directory`);
  if (argv[0] === '') throw refuse('/testCommand/argv/0', 'the name of a program');
  if (cwd !== undefined && (cwd.startsWith('/') || cwd.split('/').includes('..')))
    throw refuse('/testCommand/cwd', 'a path relative to the workspace root, without ..');
  return { ...command, sha256: sha256Hex(canonical) };
};
