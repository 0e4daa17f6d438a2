import type { EventFeed, TraceFront } from '@toolfabric/ports';
import { type BusConfig, type BusConnection, withConnection } from './bus-connection.ts';
import { createEventFeed } from './event-feed.ts';
import { openLink } from './link.ts';
import { serveRequests } from './serve-requests.ts';
import { eventStreams, TRACE_RPC_PREFIX, TRACE_RPC_QUEUE } from './subjects.ts';

const USER = 'trace-writer';

/** The trace writer's whole side of the bus: it takes events and answers questions. */
export interface TraceWriterBus extends TraceFront, BusConnection {
  readonly feed: EventFeed;
}

export const connectTraceWriter = async (config: BusConfig, kinds: readonly string[]): Promise<TraceWriterBus> => {
  const link = await openLink({ ...config, user: USER });
  const ports: Omit<TraceWriterBus, keyof BusConnection> = {
    feed: createEventFeed(link, USER, eventStreams(kinds)),
    serve: (handler) => serveRequests(link, TRACE_RPC_PREFIX, TRACE_RPC_QUEUE, handler),
  };
  return withConnection(link, ports);
};
