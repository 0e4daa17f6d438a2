import { ToolContract } from '@toolfabric/contract';
import { depthOf, FabricError } from '@toolfabric/kernel';
import { parseDocument } from 'yaml';

const MAX_TEXT = 256 * 1024;
const MAX_CONTRACT_DEPTH = 40;
const MAX_LISTED = 20;

const invalid = (source: string, problems: readonly string[]): FabricError =>
  new FabricError('contract_invalid', `${source}: ${problems.slice(0, MAX_LISTED).join('; ')}`);

/**
 * A contract with its defaults filled in. `source` is the file or the request that it came from; errors begin with it
 * and name the path of each field that does not fit. Throws `contract_invalid`.
 */
export const parseContract = (value: unknown, source = 'contract'): ToolContract => {
  if (depthOf(value, MAX_CONTRACT_DEPTH) > MAX_CONTRACT_DEPTH) throw invalid(source, ['nested too deeply']);
  const parsed = ToolContract.safeParse(value);
  if (parsed.success) return parsed.data;
  throw invalid(
    source,
    parsed.error.issues.map(({ path, message }) => `${path.join('.') || 'the whole'}: ${message}`),
  );
};

/** One YAML 1.2 document: no custom tags, no repeated keys, few aliases. Throws `contract_invalid`. */
export const parseContractYaml = (text: string, source = 'contract'): ToolContract => {
  if (Buffer.byteLength(text) > MAX_TEXT) throw invalid(source, [`larger than ${MAX_TEXT} bytes`]);
  const document = parseDocument(text, { version: '1.2', schema: 'core', uniqueKeys: true, stringKeys: true });
  const faults = [...document.errors, ...document.warnings];
  if (faults.length > 0)
    throw invalid(
      source,
      faults.map(({ message }) => message.split('\n')[0] ?? message),
    );
  let value: unknown;
  try {
    value = document.toJS({ maxAliasCount: 20 });
  } catch {
    throw invalid(source, ['too many aliases']);
  }
  return parseContract(value, source);
};
