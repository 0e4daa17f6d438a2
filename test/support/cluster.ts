import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { LedgerBus } from '@toolfabric/bus-nats';
import { freePort } from '@toolfabric/bus-nats/testing';
import { assertPublishable, contractDigests, parseContract } from '@toolfabric/catalogue';
import { connectFabric, type FabricClient } from '@toolfabric/client';
import type { CallRecord, Claim, RegistryRecord } from '@toolfabric/contract';
import type { PaceName } from '@toolfabric/kernel';
import { PACES, sha256Hex, systemClock } from '@toolfabric/kernel';
import { approvalKey, callKey, changeRecord, claimKey, toolKey } from '@toolfabric/ledger';
import { type SpawnedService, spawnService, startNats, type TestNats, waitFor } from '@toolfabric/testkit';
import { trackerContracts } from '../peers/tracker/src/interface.ts';
import { TRUTH_CONTRACTS } from '../peers/truth/src/contracts.ts';
import { readTruth } from '../peers/truth/src/tools.ts';
import { APPS, type AppName, POOLS } from './cluster-apps.ts';
import { ClusterTokens, type Who } from './cluster-tokens.ts';
import { egressEnvironment, egressPlaces } from './egress-environment.ts';

export type { AppName } from './cluster-apps.ts';

export const ADA = { tenant: 'acme', user: 'ada', agent: 'coder' } as const;

export interface ClusterOptions {
  readonly pace?: PaceName;
  /** Pools beside `cli` and `truth`. */
  readonly kinds?: readonly string[];
  readonly sizes?: Parameters<typeof startNats>[0]['sizes'];
}

type Ports = Readonly<Record<'gateway' | 'artifacts' | 'tracker', number>>;

/** Every service as a process of its own around one real bus server, for tests that kill them. */
export class Cluster {
  readonly nats: TestNats;
  readonly directory: string;
  readonly pace: PaceName;
  readonly kinds: readonly string[];
  readonly services = new Set<SpawnedService>();
  /** The router's own view, for looking into records and seeding approvals. */
  ledger!: LedgerBus;
  readonly #apps = new WeakMap<SpawnedService, AppName>();
  readonly #healthy = new Map<AppName, SpawnedService>();
  /** The same for every gateway, so that clients find the next one; likewise for the artifact store and the tracker. */
  readonly #ports: Ports;
  /** Services that start from now on are told of the store. */
  #hasArtifacts = false;
  #hasEgress = false;
  readonly #clients: FabricClient[] = [];
  readonly #tokens: ClusterTokens;

  private constructor(nats: TestNats, directory: string, pace: PaceName, ports: Ports, kinds: readonly string[]) {
    this.kinds = kinds;
    this.#ports = ports;
    this.nats = nats;
    this.directory = directory;
    this.#tokens = new ClusterTokens(directory, ADA);
    this.pace = pace;
  }

  static async start(options: ClusterOptions = {}): Promise<Cluster> {
    const pace = options.pace ?? 'test';
    const sizes = options.sizes === undefined ? {} : { sizes: options.sizes };
    const kinds = ['cli', 'truth', ...(options.kinds ?? [])];
    const nats = await startNats({ kinds, pace: PACES[pace], ...sizes });
    const directory = mkdtempSync(join(tmpdir(), 'toolfabric-cluster-'));
    const ports = { gateway: await freePort(), artifacts: await freePort(), tracker: await freePort() };
    const cluster = new Cluster(nats, directory, pace, ports, kinds);
    cluster.#writeFiles();
    cluster.ledger = await nats.connectAsRouter('test-observer');
    return cluster;
  }

  /** Services as asked for, each ready, and the tools of the test pools published. */
  static async startWith(apps: readonly AppName[], options: ClusterOptions = {}): Promise<Cluster> {
    const web = apps.includes('web') ? ['web'] : [];
    const cluster = await Cluster.start({ ...options, kinds: [...(options.kinds ?? []), ...web] });
    await cluster.publishTruth();
    if (apps.includes('tracker') && web.length > 0) await cluster.publishTracker();
    cluster.#hasArtifacts = apps.includes('artifacts');
    cluster.#hasEgress = apps.includes('egress');
    // The authority and the socket are there before a worker looks for them.
    if (cluster.#hasEgress) await cluster.ensure('egress');
    await Promise.all(apps.map((app) => cluster.ensure(app)));
    return cluster;
  }

  get truthFile(): string {
    return join(this.directory, 'truth.log');
  }

  get artifactsUrl(): string {
    return `http://127.0.0.1:${this.#ports.artifacts}`;
  }

  get artifactsDir(): string {
    return join(this.directory, 'artifacts');
  }

  get workspaceRoot(): string {
    return join(this.directory, 'roots');
  }

  truth(identity?: string) {
    const lines = readTruth(this.truthFile);
    return identity === undefined ? lines : lines.filter((line) => line.identity === identity);
  }

  /** The authority that vouches for hosts whose exchange the egress reads, and the socket. */
  get egress(): ReturnType<typeof egressPlaces> {
    return egressPlaces(this.directory);
  }

  get trackerAddress(): string {
    return `127.0.0.1:${this.#ports.tracker}`;
  }

  get trackerFile(): string {
    return join(this.directory, 'tracker.log');
  }

  publishTruth(): Promise<void> {
    return this.publish(TRUTH_CONTRACTS);
  }

  /** The tracker as its declared interface: `http.request` asks it, through the egress. */
  publishTracker(): Promise<void> {
    return this.publish(trackerContracts(this.trackerAddress));
  }

  /** As a publisher would leave them: the same checks, the same records. */
  async publish(contracts: readonly unknown[]): Promise<void> {
    const published: RegistryRecord[] = [];
    for (const value of contracts) {
      const contract = parseContract(value);
      assertPublishable(contract, published);
      const record: RegistryRecord = { contract, state: 'published', ...contractDigests(contract), publishedAt: 0 };
      await this.ledger.registry.create(toolKey(contract.name, contract.version), record);
      published.push(record);
    }
  }

  /** The one healthy process of an app, started when there is none. */
  async ensure(app: AppName): Promise<SpawnedService> {
    const present = this.#healthy.get(app);
    if (present && this.services.has(present)) return present;
    const service = this.spawn(app);
    this.#healthy.set(app, service);
    await service.ready;
    return service;
  }

  /** Ends every process of an app, healthy or armed, by SIGKILL. */
  async killAll(app: AppName): Promise<void> {
    const ended = [...this.services].filter((service) => this.#apps.get(service) === app);
    for (const service of ended) {
      service.kill('SIGCONT');
      service.kill('SIGKILL');
    }
    await Promise.all(ended.map((service) => service.exited));
  }

  /** Replaces every process of an app by one with an armed fault. */
  async arm(app: AppName, faults: string): Promise<SpawnedService> {
    await this.killAll(app);
    const service = this.spawn(app, faults);
    await service.ready;
    return service;
  }

  /** Starts a service; `faults` are armed fault points such as `worker.started:kill`. */
  spawn(app: AppName, faults = '', env: Record<string, string> = {}): SpawnedService {
    if (app === 'artifacts') this.#hasArtifacts = true;
    if (app === 'egress') this.#hasEgress = true;
    const pool = POOLS[app];
    const user = pool === undefined ? app : `worker-${pool}`;
    const service = spawnService(APPS[app], {
      TOOLFABRIC_NATS_URL: this.nats.url,
      TOOLFABRIC_NKEY_SEED_FILE: join(this.directory, `${user}.seed`),
      TOOLFABRIC_BUS_KEYS_FILE: join(this.directory, 'bus-keys.json'),
      TOOLFABRIC_SIGNING_KEY_FILE: join(this.directory, 'signing.pem'),
      TOOLFABRIC_SIGNING_KID: this.nats.signing.kid,
      TOOLFABRIC_PUBLIC_KEYS_FILE: join(this.directory, 'public-keys.json'),
      TOOLFABRIC_REDACTION_KEY_FILE: join(this.directory, 'redaction.key'),
      TOOLFABRIC_PACE: this.pace,
      TOOLFABRIC_TEST: '1',
      TOOLFABRIC_FAULTS: faults,
      TOOLFABRIC_KINDS: this.kinds.join(','),
      TOOLFABRIC_TOKENS_FILE: this.#tokens.file,
      TOOLFABRIC_GATEWAY_PORT: String(this.#ports.gateway),
      ...(this.#hasArtifacts ? { TOOLFABRIC_ARTIFACTS_URL: this.artifactsUrl } : {}),
      TOOLFABRIC_ARTIFACTS_PORT: String(this.#ports.artifacts),
      TOOLFABRIC_ARTIFACTS_DIR: this.artifactsDir,
      TOOLFABRIC_STATE_DIR: join(this.directory, 'state'),
      TOOLFABRIC_WORKSPACE_ROOTS: this.workspaceRoot,
      TOOLFABRIC_ALLOW_ROOT_OWNED: '1',
      ...(this.#hasEgress ? egressEnvironment(app, this.directory, this.kinds) : {}),
      TRUTH_FILE: this.truthFile,
      TRACKER_FILE: this.trackerFile,
      TRACKER_PORT: String(this.#ports.tracker),
      ...(app === 'trace-writer'
        ? { TOOLFABRIC_TRACE_DIR: join(this.directory, 'traces'), TOOLFABRIC_HEALTH_PORT: '0' }
        : {}),
      ...env,
    });
    this.services.add(service);
    this.#apps.set(service, app);
    void service.exited.then(() => this.services.delete(service));
    return service;
  }

  /** A cli worker whose workspaces lie in a state directory of its own, named `name`. */
  spawnApart(name: string, faults = '', kind = 'cli', env: Record<string, string> = {}): SpawnedService {
    return this.spawn('cli', faults, {
      TOOLFABRIC_KIND: kind,
      TOOLFABRIC_NKEY_SEED_FILE: join(this.directory, `worker-${kind}.seed`),
      TOOLFABRIC_STATE_DIR: join(this.directory, `state-${name}`),
      TOOLFABRIC_WORKSPACE_STORAGE: 'own',
      ...env,
    });
  }

  /** A client of the present gateway; by default as `ADA`, otherwise with a token of its own. */
  client(who: Who = {}): FabricClient {
    const token = this.token(who);
    const client = connectFabric({ address: this.address, token });
    this.#clients.push(client);
    return client;
  }

  get address(): string {
    return `127.0.0.1:${this.#ports.gateway}`;
  }

  /** A token bound to `ADA`, or to whom is said; the gateway reads it within a second. */
  token(who: Who = {}): string {
    return this.#tokens.of(who);
  }

  async call(callId: string): Promise<CallRecord | undefined> {
    return (await this.ledger.calls.get(callKey(ADA.tenant, callId)))?.value;
  }

  async claim(kind: string, callId: string): Promise<Claim | undefined> {
    return (await this.ledger.claims(kind).get(claimKey(kind, ADA.tenant, callId)))?.value;
  }

  waitForState(callId: string, states: readonly string[], timeoutMs = 30_000): Promise<CallRecord> {
    return waitFor(
      async () => {
        const call = await this.call(callId);
        return call && states.includes(call.state) ? call : undefined;
      },
      { timeoutMs, what: `${callId} to be ${states.join(' or ')}` },
    );
  }

  /** What the front door of approvals will do: a person grants what the call waits for. */
  async grant(callId: string, known?: CallRecord): Promise<void> {
    const call = known ?? (await this.waitForState(callId, ['awaiting_approval']));
    const key = approvalKey(ADA.tenant, call.approvalId ?? '');
    await changeRecord(
      this.ledger.approvals,
      key,
      (approval) =>
        approval?.state === 'pending' ? { ...approval, state: 'granted' as const, approver: 'grace' } : undefined,
      { clock: systemClock },
    );
  }

  async stop(): Promise<void> {
    for (const client of this.#clients) client.close();
    for (const service of this.services) service.kill('SIGKILL');
    await Promise.all([...this.services].map((service) => service.exited));
    await this.nats.stop();
    // An engine ends a moment after the writer that was killed.
    rmSync(this.directory, { recursive: true, force: true, maxRetries: 10 });
  }

  #writeFiles(): void {
    mkdirSync(join(this.directory, 'state'));
    mkdirSync(this.workspaceRoot);
    this.token();
    this.token({ user: 'bob' });
    this.token({ tenant: 'rival' });
    this.token({ rights: ['registry:publish'] });
    writeFileSync(join(this.directory, 'signing.pem'), this.nats.signing.privateKey, { mode: 0o600 });
    writeFileSync(join(this.directory, 'redaction.key'), sha256Hex(`redaction ${this.directory}`), { mode: 0o600 });
    writeFileSync(this.egress.vaultKeyFile, sha256Hex(`vault ${this.directory}`), { mode: 0o600 });
    writeFileSync(join(this.directory, 'public-keys.json'), JSON.stringify(this.nats.signing.publicKeys));
    writeFileSync(join(this.directory, 'bus-keys.json'), JSON.stringify(this.nats.busKeys));
    for (const [user, seed] of Object.entries(this.nats.seeds))
      writeFileSync(join(this.directory, `${user}.seed`), seed, { mode: 0o600 });
  }
}
