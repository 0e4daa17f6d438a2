import { connectWorker } from '@toolfabric/bus-nats';
import { connectFabric, type FabricClient, type NewCredential } from '@toolfabric/client';
import { createEgressDoor } from '@toolfabric/egress-http';
import { createVerifier, PACES, silentLogger } from '@toolfabric/kernel';
import type { SpawnedService } from '@toolfabric/testkit';
import { runWorker } from '@toolfabric/worker-runtime';
import { OAuthServer } from '../../../apps/egress/src/testing/oauth-server.ts';
import { type AppName, Cluster } from '../../support/cluster.ts';
import type { Who } from '../../support/cluster-tokens.ts';
import { NotesPeer } from './notes-peer.ts';
import { HANDLES, KIND, notesContracts, notesTool } from './notes-tools.ts';
import { WireTap } from './wire-tap.ts';

export type NotesToolName = keyof typeof HANDLES;

const SERVICES: readonly AppName[] = ['egress', 'router', 'gateway'];
const portOf = (address: string): number => Number(address.slice(address.lastIndexOf(':') + 1));

/** A worker whose tools act with credentials, in this process. */
const openWorker = async ({ nats, egress }: Cluster, bus: WireTap) => {
  const place = { servers: `nats://${bus.address}`, nkeySeed: nats.seeds[`worker-${KIND}`] ?? '' };
  const ports = await connectWorker({ ...place, publicKeys: nats.busKeys, name: KIND }, KIND);
  const worker = await runWorker({
    kind: KIND,
    ports,
    tools: [notesTool],
    verifier: createVerifier(nats.signing.publicKeys),
    pace: PACES.test,
    slots: 4,
    isolation: ['process'],
    egress: createEgressDoor({ socketPath: egress.socket }),
    log: silentLogger,
  });
  return async () => {
    await worker.stop();
    await ports.close();
  };
};

/**
 * A fabric with its way out, each service a process, and somebody else's service. All that is said on the bus and at the
 * front door goes through taps.
 */
export class CredentialWorld {
  readonly cluster: Cluster;
  readonly bus: WireTap;
  readonly front: WireTap;
  readonly peer: NotesPeer;
  readonly oauth: OAuthServer;
  readonly services = new Map<AppName, SpawnedService>();
  /** Lines of services that are gone. */
  readonly #logs: string[] = [];
  readonly #clients: FabricClient[] = [];
  #stopWorker = async (): Promise<void> => {};

  private constructor(
    cluster: Cluster,
    taps: Pick<CredentialWorld, 'bus' | 'front'>,
    peer: NotesPeer,
    oauth: OAuthServer,
  ) {
    this.cluster = cluster;
    this.bus = taps.bus;
    this.front = taps.front;
    this.peer = peer;
    this.oauth = oauth;
  }

  static async start(): Promise<CredentialWorld> {
    const cluster = await Cluster.start({ kinds: [KIND] });
    const [bus, front] = [await WireTap.on(portOf(cluster.nats.url)), await WireTap.on(portOf(cluster.address))];
    const world = new CredentialWorld(cluster, { bus, front }, await NotesPeer.start(), await OAuthServer.start());
    await cluster.publish(notesContracts(world.peer.port));
    for (const app of SERVICES) await world.run(app);
    world.#stopWorker = await openWorker(cluster, bus);
    return world;
  }

  /** Starts a service behind the tap, in the place of one that was killed. */
  async run(app: AppName, env: Record<string, string> = {}): Promise<void> {
    const inside = [this.origin, this.oauth.issuer].map((origin) => `${origin}=127.0.0.0/8`);
    const service = this.cluster.spawn(app, '', {
      TOOLFABRIC_NATS_URL: `nats://${this.bus.address}`,
      TOOLFABRIC_CREDENTIAL_PRIVATE_ORIGINS: inside.join(','),
      ...env,
    });
    await service.ready;
    this.services.set(app, service);
  }

  async kill(app: AppName): Promise<void> {
    const service = this.services.get(app);
    service?.kill('SIGKILL');
    await service?.exited;
    this.#logs.push(...(service?.log ?? []));
    this.services.delete(app);
  }

  client(who: Who = {}): FabricClient {
    const client = connectFabric({ address: this.front.address, token: this.cluster.token(who) });
    this.#clients.push(client);
    return client;
  }

  /** Of the peer. */
  get origin(): string {
    return `http://127.0.0.1:${this.peer.port}`;
  }

  /** Every line that a service wrote. */
  get logs(): readonly string[] {
    return [...this.#logs, ...[...this.services.values()].flatMap(({ log }) => log)];
  }

  /** A credential for the peer, with what is said otherwise. */
  credential(tool: NotesToolName, secret: string, more: Partial<NewCredential> = {}): NewCredential {
    return {
      handle: HANDLES[tool],
      account: `${tool}@notes.example.com`,
      audience: { hosts: ['127.0.0.1'], paths: ['/notes', '/held'] },
      inject: { type: 'header', header: 'authorization', template: 'Bearer {secret}' },
      kind: 'static',
      secret: { secret },
      ...more,
    };
  }

  async stop(): Promise<void> {
    for (const client of this.#clients) client.close();
    await this.#stopWorker();
    await Promise.all([this.cluster.stop(), this.peer.stop(), this.oauth.stop()]);
    await Promise.all([this.bus.close(), this.front.close()]);
  }
}
