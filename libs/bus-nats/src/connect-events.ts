import type { EventLog } from '@toolfabric/ports';
import { type BusConfig, type BusConnection, withConnection } from './bus-connection.ts';
import { createEventLog } from './event-log.ts';
import { openLink } from './link.ts';

/** The whole side of the bus of a service that only tells what happens in it. */
export interface EventsBus extends BusConnection {
  readonly events: EventLog;
}

export const connectEvents = async (config: BusConfig, user: 'artifacts'): Promise<EventsBus> => {
  const link = await openLink({ ...config, user });
  return withConnection(link, { events: createEventLog(link) });
};
