import type { PolicyJson } from '@cedar-policy/cedar-wasm/nodejs';
import type { RiskGroup, ToolContract } from '@toolfabric/contract';
import type { Rule } from './rules.ts';
import { toolsetGroup } from './schema.ts';

const idOf = (entity: unknown): string => {
  const uid = entity as { id?: string; __entity?: { id: string } };
  return uid.__entity?.id ?? uid.id ?? '';
};

/** The actions that the scope of a policy names; undefined for all of them. */
const namedActions = ({ action }: PolicyJson): string[] | undefined => {
  if (action.op === 'All') return undefined;
  if ('entities' in action) return action.entities.map(idOf);
  return 'entity' in action ? [idOf(action.entity)] : [];
};

/**
 * Whether a policy is put to the engine for this tool at this level. A raised call stands in the group that it was
 * raised to: a permit for the group of its contract permits it no more, a prohibition on that group still holds.
 */
export const isCovered = (json: PolicyJson, { name, toolset, governance }: ToolContract, risk: RiskGroup): boolean => {
  const named = namedActions(json);
  if (named === undefined) return true;
  const groups = [name, toolsetGroup(toolset), risk, ...(json.effect === 'forbid' ? [governance.risk] : [])];
  return named.some((action) => groups.includes(action));
};

export const sliceOf = (rules: readonly Rule[], contract: ToolContract, risk: RiskGroup): Rule[] =>
  rules.filter(({ json }) => isCovered(json, contract, risk));
