import { DoorLife, EgressFloor, EgressRevocation } from '@toolfabric/contract';
import type { EventLog, Store } from '@toolfabric/ports';
import type { z } from 'zod';
import { type BusConfig, type BusConnection, withConnection } from './bus-connection.ts';
import { createEventLog } from './event-log.ts';
import { HopSeals } from './hop-seal.ts';
import { openLink } from './link.ts';
import { oneBucket, RecordStore } from './record-store.ts';
import { serveOne, serveRequests } from './serve-requests.ts';
import {
  bellPlace,
  DOOR_BELL,
  DOOR_BUCKETS,
  doorSubject,
  EGRESS_RPC_PREFIX,
  EGRESS_RPC_QUEUE,
  EGRESS_USER,
  GATEWAY_USER,
  IMPORTED_API,
  ROUTER_USER,
  TRACE_USER,
} from './subjects.ts';

/** An egress process' whole side of the bus. */
export interface EgressBus extends BusConnection {
  /** Written by routers; read here before a permit is opened. */
  readonly floors: Store<EgressFloor>;
  readonly lives: Store<DoorLife>;
  /** What routers may read of credentials. */
  credentials<T>(schema: z.ZodType<T>): Store<T>;
  /** What only an egress can read; sealed by whoever writes it. */
  vault<T>(schema: z.ZodType<T>): Store<T>;
  readonly events: EventLog;
  /** Requests of the front door to the keeper of credentials; the handler never throws. */
  serve(handler: (verb: string, body: string) => Promise<string>): () => void;
  /**
   * What routers say is void: a bell, which may get lost, and requests to this one process that are answered with what
   * the handler resolves with. One that rejects, or a message that no router sent, is not answered.
   */
  onRevocation(incarnation: string, handler: (revocation: EgressRevocation) => Promise<object>): () => void;
}

const revocationIn = (text: string): EgressRevocation | undefined => {
  try {
    return EgressRevocation.parse(JSON.parse(text));
  } catch {
    return undefined;
  }
};

export const connectEgress = async (config: BusConfig): Promise<EgressBus> => {
  const hops = new HopSeals({ ...config, user: EGRESS_USER });
  const router = hops.with(ROUTER_USER);
  const told = hops.with(TRACE_USER);
  const link = await openLink({ ...config, user: EGRESS_USER });
  const sealed = { hops, seal: router };
  const shared = <T>(bucket: string, schema: z.ZodType<T>) =>
    new RecordStore(link, IMPORTED_API, oneBucket(bucket), schema, sealed);
  const ports: Omit<EgressBus, keyof BusConnection> = {
    floors: shared(DOOR_BUCKETS.floors, EgressFloor),
    lives: shared(DOOR_BUCKETS.lives, DoorLife),
    credentials: (schema) => shared(DOOR_BUCKETS.credentials, schema),
    vault: (schema) => new RecordStore(link, IMPORTED_API, oneBucket(DOOR_BUCKETS.vault), schema),
    events: createEventLog(link, told),
    serve: (handler) =>
      serveRequests(link, EGRESS_RPC_PREFIX, EGRESS_RPC_QUEUE, { hops, asker: GATEWAY_USER }, handler),
    onRevocation(incarnation, handler) {
      const bell = link.subscribe(DOOR_BELL, ({ subject, data }) => {
        const rung = router.open(bellPlace(subject), data);
        if (rung === undefined) return hops.refused('bell');
        const revocation = revocationIn(rung.toString('utf8'));
        if (revocation !== undefined) void handler(revocation).catch(() => undefined);
      });
      const asked = serveOne(link, doorSubject(incarnation), { hops, asker: ROUTER_USER }, async (body) => {
        const revocation = revocationIn(body);
        return revocation === undefined ? undefined : JSON.stringify(await handler(revocation));
      });
      return () => {
        bell.unsubscribe();
        asked();
      };
    },
  };
  return withConnection(link, hops, ports);
};
