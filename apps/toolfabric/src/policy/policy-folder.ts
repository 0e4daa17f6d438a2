import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { loadBuiltinContracts, loadContracts, parseYaml } from '@toolfabric/catalogue';
import type { ToolContract } from '@toolfabric/contract';
import { FabricError } from '@toolfabric/kernel';
import {
  CaseFile,
  checkPolicies,
  createCedarPolicy,
  type PolicyCase,
  type PolicyFolder,
  type PolicyProblem,
  type PolicySource,
  readPolicyFolder,
} from '@toolfabric/policy-cedar';
import type { PolicyEngine } from '@toolfabric/ports';
import { z } from 'zod';
import type { Arguments } from '../cli/arguments.ts';
import { UsageError } from '../cli/usage-error.ts';

/** Those that come with the fabric, and those of the folders that were named. Throws `UsageError`. */
export const contractsOf = (args: Arguments): ToolContract[] => {
  const own = args.list('contracts').flatMap((folder) => {
    if (!existsSync(folder)) throw new UsageError(`--contracts ${folder}: there is no such folder`);
    return loadContracts(folder);
  });
  return [...loadBuiltinContracts(), ...own];
};

/** Throws `UsageError` for a folder that is not there, `invalid_request` for a file that does not belong there. */
export const openFolder = (folder: string): PolicyFolder => {
  if (!existsSync(folder)) throw new UsageError(`${folder}: there is no such folder`);
  return readPolicyFolder(folder);
};

export interface FolderProblem extends PolicyProblem {
  readonly isWarning: boolean;
}

/** Everything in the folder, what is only tried included. */
export const problemsIn = (folder: PolicyFolder, contracts: readonly ToolContract[]): FolderProblem[] =>
  [folder.active, folder.shadow]
    .filter((source) => source !== undefined)
    .flatMap((source) => checkPolicies(source, contracts))
    .map((problem) => ({ ...problem, isWarning: problem.isWarning === true }));

/** Throws `invalid_request` with the first error: what would not be enforced is not tried either. */
export const engineOf = (source: PolicySource, contracts: readonly ToolContract[]): PolicyEngine => {
  const error = checkPolicies(source, contracts).find(({ isWarning }) => isWarning !== true);
  if (error !== undefined) throw new FabricError('invalid_request', `${error.path}:${error.line}: ${error.message}`);
  return createCedarPolicy({ source });
};

export interface CasesOf {
  readonly path: string;
  readonly tenant: string;
  readonly isShadow: boolean;
  readonly cases: readonly PolicyCase[];
}

const readCases = (root: string, path: string): readonly PolicyCase[] => {
  const read = CaseFile.safeParse(parseYaml(readFileSync(join(root, path), 'utf8')));
  if (read.success) return read.data.cases;
  throw new FabricError('invalid_request', `${path}: ${z.prettifyError(read.error)}`);
};

/** Every `tenants/<tenant>/*.test.yaml`, those below `shadow/` for the policies that are only tried. */
export const casesIn = (root: string): CasesOf[] =>
  readdirSync(root, { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.test.yaml'))
    .map((name) => relative('.', name))
    .sort()
    .flatMap((path) => {
      const found = /^(shadow\/)?tenants\/([^/]+)\/[^/]+$/.exec(path);
      if (found === null)
        throw new FabricError('invalid_request', `${path}: cases stand beside the policies of a tenant`);
      return [{ path, tenant: found[2] ?? '', isShadow: found[1] !== undefined, cases: readCases(root, path) }];
    });
