import {
  Capability,
  Execution,
  Governance,
  type ModelTool,
  Output,
  Reconcile,
  type RegistryRecord,
  ToolContract,
} from '@toolfabric/contract';
import { canonicalJson, digestOf } from '@toolfabric/kernel';
import type { z } from 'zod';

type Fields = Readonly<Record<string, unknown>>;

/**
 * The fields that differ from their default. A digest covers only these, so that a field which a later release adds
 * with a default changes no digest of a contract that was published before it.
 */
const withoutDefaults = (schema: z.ZodObject, value: Fields): Fields =>
  Object.fromEntries(
    Object.entries(value).filter(([key, item]) => {
      const byDefault = schema.shape[key]?.safeParse(undefined);
      return !(
        byDefault?.success &&
        byDefault.data !== undefined &&
        canonicalJson(byDefault.data) === canonicalJson(item)
      );
    }),
  );

const essentialsOf = (contract: ToolContract): Fields => {
  const { reconcile } = contract.governance;
  const governance = withoutDefaults(Governance, contract.governance);
  return {
    ...withoutDefaults(ToolContract, contract),
    capability: withoutDefaults(Capability, contract.capability),
    execution: withoutDefaults(Execution, contract.execution),
    output: withoutDefaults(Output, contract.output),
    governance:
      reconcile === undefined ? governance : { ...governance, reconcile: withoutDefaults(Reconcile, reconcile) },
  };
};

/** What a model sees of a contract, and nothing else (FD-1). */
export const modelView = ({ name, version, capability, input, output }: ToolContract): ModelTool => ({
  name,
  version,
  capability: capability as ModelTool['capability'],
  input,
  output: output as ModelTool['output'],
});

/** SHA-256 in hexadecimal: over the whole contract, and over what a model sees. Both ignore fields left at their default. */
export const contractDigests = (contract: ToolContract): { digest: string; modelDigest: string } => ({
  digest: digestOf(essentialsOf(contract)),
  modelDigest: digestOf({
    ...modelView(contract),
    capability: withoutDefaults(Capability, contract.capability),
    output: withoutDefaults(Output, contract.output),
  }),
});

/** A contract as the registry first stores it. */
export const draftOf = (contract: ToolContract): RegistryRecord => ({
  contract,
  state: 'draft',
  ...contractDigests(contract),
});
