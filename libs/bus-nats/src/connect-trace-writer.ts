import type { EventFeed, TraceFront } from '@toolfabric/ports';
import { type BusConfig, type BusConnection, withConnection } from './bus-connection.ts';
import { createEventFeed } from './event-feed.ts';
import { HopSeals } from './hop-seal.ts';
import { openLink } from './link.ts';
import { serveRequests } from './serve-requests.ts';
import { eventStreams, GATEWAY_USER, TRACE_RPC_PREFIX, TRACE_RPC_QUEUE, TRACE_USER } from './subjects.ts';

/** The trace writer's whole side of the bus: it takes events and answers questions. */
export interface TraceWriterBus extends TraceFront, BusConnection {
  readonly feed: EventFeed;
}

export const connectTraceWriter = async (config: BusConfig, kinds: readonly string[]): Promise<TraceWriterBus> => {
  const hops = new HopSeals({ ...config, user: TRACE_USER });
  const link = await openLink({ ...config, user: TRACE_USER });
  const asked = { hops, asker: GATEWAY_USER };
  const ports: Omit<TraceWriterBus, keyof BusConnection> = {
    feed: createEventFeed(link, TRACE_USER, eventStreams(kinds), hops),
    serve: (handler) => serveRequests(link, TRACE_RPC_PREFIX, TRACE_RPC_QUEUE, asked, handler),
  };
  return withConnection(link, hops, ports);
};
