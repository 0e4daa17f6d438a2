import { type CallRecord, EgressHost, type TaskRecord, type ToolContract } from '@toolfabric/contract';
import { egressRulesOf, hostOf } from '@toolfabric/governance';

/** As the way out compares them: canonical, with the `*.` that a prohibition may have. */
const canonical = (pattern: string): string[] => {
  const isWide = pattern.startsWith('*.');
  const host = hostOf(isWide ? pattern.slice(2) : pattern);
  if (host === undefined) return [];
  const written = isWide && host.includes('.') ? `*.${host}` : host;
  return EgressHost.safeParse(written).success ? [written] : [];
};

/**
 * Whether executions of a call may go out, and what the task forbids to all of them (PO-9). A call that names no host,
 * of a contract that names none either, is one without a network.
 */
export const wayOut = (
  contract: ToolContract,
  args: Readonly<Record<string, unknown>>,
  task: TaskRecord,
): Pick<CallRecord, 'egress'> => {
  if (egressRulesOf(contract, args).length === 0) return {};
  const except = (task.constraints?.forbiddenHosts ?? []).flatMap(canonical);
  return { egress: except.length === 0 ? {} : { except } };
};
