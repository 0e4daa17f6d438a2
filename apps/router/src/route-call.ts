import type { ToolContract } from '@toolfabric/contract';
import { FabricError } from '@toolfabric/kernel';
import { chooseExecution, type ExecutionChoice, type InputTrust } from '@toolfabric/routing';
import type { RouterServices } from './router-services.ts';

export interface RouteOptions {
  readonly priority?: 'hi' | 'lo' | undefined;
  /** Of whoever proposes the call; `trusted` for what the fabric does for itself. */
  readonly inputTrust?: InputTrust;
  /** Whether the call may reach a host; taken from the contract when left out. */
  readonly reachesOut?: boolean;
}

const choose = (
  services: RouterServices,
  contract: ToolContract,
  { priority = 'hi', inputTrust = 'trusted', reachesOut = true }: RouteOptions,
): ExecutionChoice => {
  const liveKinds = new Map([...services.lives].map(([kind, watch]) => [kind, watch.recent]));
  return chooseExecution({ contract, liveKinds, inputTrust, tenancy: services.tenancy, priority, reachesOut });
};

/** What an executor that has come since may answer otherwise. */
const PASSING: ReadonlySet<string> = new Set(['no_executor', 'egress_unavailable']);

/**
 * Execution routing over the life signs that this router saw last. Before it says that nobody could run the call it
 * looks once more: an executor may have come since.
 */
export const routeCall = async (
  services: RouterServices,
  contract: ToolContract,
  options: RouteOptions = {},
): Promise<ExecutionChoice> => {
  try {
    return choose(services, contract, options);
  } catch (thrown) {
    if (!(thrown instanceof FabricError) || !PASSING.has(thrown.type)) throw thrown;
    await Promise.all([...services.lives.values()].map((watch) => watch.look()));
    return choose(services, contract, options);
  }
};
