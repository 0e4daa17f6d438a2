import type { ToolContract } from '@toolfabric/contract';
import { hostTextsAt } from '../extract.ts';
import { egressRulesOf } from './egress-rules.ts';

/**
 * Whether a call of the contract may reach a host at all. One that names none, of a contract that lists none either, is
 * a call without a network: it gets no leave, and needs no way out where it runs. Pure.
 */
export const reachesOut = (contract: ToolContract, args: Readonly<Record<string, unknown>>): boolean => {
  const { execution } = contract;
  if (execution.network === 'none') return false;
  if (execution.egress === undefined) return true;
  return egressRulesOf(contract, args).length > 0 || hostTextsAt(args, contract).length > 0;
};
