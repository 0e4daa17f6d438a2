import type { DoorLife, EgressFloor, EgressPermit } from '@toolfabric/contract';
import { doorKey, floorKey } from '@toolfabric/ledger';
import type { Store } from '@toolfabric/ports';
import type { FloorSource } from '../permits/permit-table.ts';

/**
 * The floor of a call as the routers stored it. Whether this process still counts as alive is read with it: once it was
 * declared dead, routers take it for one that cannot have opened anything later (protocol 7), so nothing may be opened.
 */
export const storedFloors = (floors: Store<EgressFloor>, lives: Store<DoorLife>, incarnation: string): FloorSource => ({
  floorOf: async ({ actor, callId }: EgressPermit) => {
    const [floor, life] = await Promise.all([
      floors.get(floorKey(actor.tenant, callId)),
      lives.get(doorKey(incarnation)),
    ]);
    if (life?.value.state !== 'alive') throw new Error('this egress does not count as alive');
    return floor?.value.epoch ?? 0;
  },
});
