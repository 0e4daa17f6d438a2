import { compileOutput, type OutputRules } from '@toolfabric/catalogue';
import type { ToolContract, ToolRef } from '@toolfabric/contract';
import type { RouterContext } from './router-context.ts';

const asItIs: OutputRules = (outcome) => outcome;

/** A contract never changes, so its rules are compiled once. */
const compiled = new WeakMap<ToolContract, OutputRules>();

/**
 * What the contract of a call says about its outcomes (RG-8). The same for every router and at any time: a contract is
 * found by its digest, also when it was retired since. Throws `unavailable` where it cannot be read here.
 */
export const judgeOf = async (ctx: RouterContext, tool: ToolRef): Promise<OutputRules> => {
  if (tool.digest === '') return asItIs;
  const contract = await ctx.contractOf(tool);
  const known = compiled.get(contract);
  if (known) return known;
  const rules = compileOutput(contract) ?? asItIs;
  compiled.set(contract, rules);
  return rules;
};
