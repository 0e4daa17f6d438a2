import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { ToolContract } from '@toolfabric/contract';
import { FabricError } from '@toolfabric/kernel';
import { parseContractYaml } from './parse-contract.ts';

const BUILTIN = fileURLToPath(new URL('../contracts', import.meta.url));

/**
 * Every `*.yaml` of a directory, in the order of the file names. Throws `contract_invalid` with file and path, and for
 * two files that hold the same version of a tool.
 */
export const loadContracts = (directory: string): ToolContract[] => {
  const origins = new Map<string, string>();
  const files = readdirSync(directory)
    .filter((file) => file.endsWith('.yaml'))
    .sort();
  return files.map((file) => {
    const contract = parseContractYaml(readFileSync(join(directory, file), 'utf8'), file);
    const id = `${contract.name}@${contract.version}`;
    const other = origins.get(id);
    if (other !== undefined) throw new FabricError('contract_invalid', `${file}: ${id} stands in ${other} too`);
    origins.set(id, file);
    return contract;
  });
};

/** The contracts that come with the fabric. */
export const loadBuiltinContracts = (): ToolContract[] => loadContracts(BUILTIN);
