import {
  connectEvents,
  connectGateway,
  connectLedger,
  connectTraceWriter,
  connectWorker,
  type EventsBus,
  type GatewayBus,
  type LedgerBus,
  type Provisioner,
  type TraceWriterBus,
  type WorkerBus,
} from '@toolfabric/bus-nats';
import { type RawUser, TemporaryServer, type TemporaryServerOptions } from '@toolfabric/bus-nats/testing';
import { generateSigningKey, type PublicKeyEntry } from '@toolfabric/kernel';

export interface TestNats {
  readonly url: string;
  readonly kinds: readonly string[];
  /** NKey seeds by bus user: `router`, `gateway`, `artifacts`, `trace-writer`, `provisioner`, `worker-<kind>`. */
  readonly seeds: Readonly<Record<string, string>>;
  /** Public NKeys by bus user, as the services read them from a file. */
  readonly busKeys: Readonly<Record<string, string>>;
  /** A signing key with the role of a router, and the key file that every service reads. */
  readonly signing: {
    readonly kid: string;
    readonly privateKey: string;
    readonly publicKeys: readonly PublicKeyEntry[];
  };
  /** Connections that `stop` closes. */
  connectAsRouter(name?: string): Promise<LedgerBus>;
  connectAsWorker(kind: string, name?: string): Promise<WorkerBus>;
  connectAsGateway(name?: string): Promise<GatewayBus>;
  connectAsArtifacts(name?: string): Promise<EventsBus>;
  connectAsTraceWriter(name?: string): Promise<TraceWriterBus>;
  connectAsProvisioner(): Promise<Provisioner>;
  /** A bare connection for negative tests. */
  connectRaw(user: string): Promise<RawUser>;
  /** SIGKILL to the server; `restart` brings it back on the same port and store. */
  kill(): Promise<void>;
  restart(): Promise<void>;
  /** SIGSTOP, resolves when it stands still; and SIGCONT. */
  pause(): Promise<void>;
  resume(): void;
  /** Closes every connection, ends the server and deletes its store. Safe to call twice. */
  stop(): Promise<void>;
}

const signingKey = (): TestNats['signing'] => {
  const kid = 'test-router';
  const { privateKey, entry } = generateSigningKey(kid, ['router']);
  return { kid, privateKey, publicKeys: [entry] };
};

/** A real bus server with the real accounts, provisioned, on a free loopback port. */
export const startNats = async (options: TemporaryServerOptions): Promise<TestNats> => {
  const server = await TemporaryServer.start(options);
  const open = new Set<{ close(): Promise<void> }>();
  const keep = async <T extends { close(): Promise<void> }>(opening: Promise<T>): Promise<T> => {
    const connection = await opening;
    open.add(connection);
    return connection;
  };
  return {
    url: server.url,
    kinds: server.kinds,
    seeds: server.keys.seeds,
    busKeys: server.keys.publicKeys,
    signing: signingKey(),
    connectAsRouter: async (name) => keep(connectLedger(server.configFor('router', name))),
    connectAsWorker: async (kind, name) => keep(connectWorker(server.configFor(`worker-${kind}`, name), kind)),
    connectAsGateway: async (name) => keep(connectGateway(server.configFor('gateway', name))),
    connectAsArtifacts: async (name) => keep(connectEvents(server.configFor('artifacts', name), 'artifacts')),
    connectAsTraceWriter: async (name) =>
      keep(connectTraceWriter(server.configFor('trace-writer', name), server.kinds)),
    connectAsProvisioner: () => keep(server.provisioner()),
    connectRaw: async (user) => keep(server.rawUser(user)),
    kill: () => server.kill(),
    restart: () => server.restart(),
    pause: () => server.pause(),
    resume: () => server.resume(),
    async stop() {
      await Promise.all([...open].map((connection) => connection.close().catch(() => {})));
      open.clear();
      await server.stop();
    },
  };
};
