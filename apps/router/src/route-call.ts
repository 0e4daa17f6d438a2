import type { ToolContract } from '@toolfabric/contract';
import { FabricError } from '@toolfabric/kernel';
import { chooseExecution, type ExecutionChoice } from '@toolfabric/routing';
import type { RouterServices } from './router-services.ts';

const choose = (services: RouterServices, contract: ToolContract, priority: 'hi' | 'lo'): ExecutionChoice => {
  const liveKinds = new Map([...services.lives].map(([kind, watch]) => [kind, watch.recent]));
  return chooseExecution({ contract, liveKinds, inputTrust: 'trusted', tenancy: services.tenancy, priority });
};

/**
 * Execution routing over the life signs that this router saw last. Before it says that nobody could run the call it
 * looks once more: an executor may have come since.
 */
export const routeCall = async (
  services: RouterServices,
  contract: ToolContract,
  priority: 'hi' | 'lo' = 'hi',
): Promise<ExecutionChoice> => {
  try {
    return choose(services, contract, priority);
  } catch (thrown) {
    if (!(thrown instanceof FabricError) || thrown.type !== 'no_executor') throw thrown;
    await Promise.all([...services.lives.values()].map((watch) => watch.look()));
    return choose(services, contract, priority);
  }
};
