import type { EventLog } from '@toolfabric/ports';
import { type BusConfig, type BusConnection, withConnection } from './bus-connection.ts';
import { createEventLog } from './event-log.ts';
import { HopSeals } from './hop-seal.ts';
import { openLink } from './link.ts';
import { TRACE_USER } from './subjects.ts';

/** The whole side of the bus of a service that only tells what happens in it. */
export interface EventsBus extends BusConnection {
  readonly events: EventLog;
}

export const connectEvents = async (config: BusConfig, user: 'artifacts'): Promise<EventsBus> => {
  const hops = new HopSeals({ ...config, user });
  const told = hops.with(TRACE_USER);
  const link = await openLink({ ...config, user });
  return withConnection(link, hops, { events: createEventLog(link, told) });
};
