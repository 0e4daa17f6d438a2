import { randomBytes } from 'node:crypto';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { connectLedger, workerUser } from '@toolfabric/bus-nats';
import type { TemporaryServer } from '@toolfabric/bus-nats/testing';
import type { TaskRecord } from '@toolfabric/contract';
import { generateSigningKey } from '@toolfabric/kernel';
import { type SpawnedService, spawnService } from '@toolfabric/testkit';
import { startOpenServer } from './bare-bus.ts';
import type { FabricPoint } from './jobs.ts';
import type { Pids } from './process-usage.ts';
import { seedActors, seedTools } from './seeds.ts';

export const ROOT = fileURLToPath(new URL('../../..', import.meta.url));
const KIND = 'truth';
const APPS = { gateway: 'apps/gateway', router: 'apps/router', worker: 'test/peers/truth' } as const;
export type ServiceName = keyof typeof APPS;
const USERS: Record<ServiceName, string> = { gateway: 'gateway', router: 'router', worker: workerUser(KIND) };

export interface FabricOptions {
  readonly tools: number;
  readonly tenants: number;
  /** Where the services leave a CPU profile when they are stopped; none when left out. */
  readonly profiles?: string;
  /** The checkout whose services are started; this one when left out. */
  readonly root?: string;
  /** More for the environment of every service. */
  readonly env?: Readonly<Record<string, string>>;
  /** More for the record of every task. */
  readonly task?: Partial<TaskRecord>;
  /** Whether redacted arguments and results are recorded. */
  readonly payloads?: boolean;
  /** Whether a trace writer takes all of it into an embedded store meanwhile. */
  readonly traceStore?: boolean;
}

const profiling = (name: ServiceName, profiles: string | undefined): Readonly<Record<string, string>> =>
  profiles === undefined
    ? {}
    : { NODE_OPTIONS: `--cpu-prof --cpu-prof-dir=${profiles} --cpu-prof-name=${name}.cpuprofile` };

/**
 * The whole path on one machine as it is run in production: every service a process of its own, the production pace,
 * signing, policy and the bus accounts on, no fault point armed.
 */
export class BenchFabric {
  readonly server: TemporaryServer;
  /** Seed of the bus user that may hear everything. */
  readonly openSeed: string;
  readonly #directory = mkdtempSync(join(tmpdir(), 'toolfabric-bench-'));
  readonly #services: Partial<Record<ServiceName, SpawnedService>> = {};
  #traceWriter: SpawnedService | undefined;
  point!: FabricPoint;

  private constructor(server: TemporaryServer, openSeed: string) {
    this.server = server;
    this.openSeed = openSeed;
  }

  static async start(options: FabricOptions): Promise<BenchFabric> {
    const { server, seed } = await startOpenServer([KIND]);
    const fabric = new BenchFabric(server, seed);
    try {
      await fabric.#start(options);
      return fabric;
    } catch (thrown) {
      await fabric.stop();
      throw thrown;
    }
  }

  get pids(): Pids {
    const services = Object.entries(this.#services).map(([name, { pid }]) => [name, pid] as const);
    return { ...Object.fromEntries(services), 'nats-server': this.server.pid };
  }

  async #start({ tools, tenants, profiles, root = ROOT, env = {}, ...more }: FabricOptions): Promise<void> {
    const ledger = await connectLedger(this.server.configFor('router', 'bench-seeds'));
    await seedTools(ledger, tools);
    const { callers, tokens } = await seedActors(ledger, tenants, more.task);
    await ledger.close();
    this.#writeFiles(tokens);
    const redaction = more.payloads ? { TOOLFABRIC_REDACTION_KEY_FILE: join(this.#directory, 'redaction.key') } : {};
    const spawned = (['router', 'worker', 'gateway'] as const).map((name) =>
      this.#spawn(root, name, { ...profiling(name, profiles), ...redaction, ...env }),
    );
    const [, , gateway] = await Promise.all(spawned.map(({ ready }) => ready));
    this.point = { address: String(gateway?.['address']), actors: callers };
    if (more.traceStore) await this.#startTraces(root);
  }

  #spawn(root: string, name: ServiceName, env: Readonly<Record<string, string>>): SpawnedService {
    const file = (of: string) => join(this.#directory, of);
    const service = spawnService(join(root, APPS[name]), {
      TOOLFABRIC_NATS_URL: this.server.url,
      TOOLFABRIC_NKEY_SEED_FILE: file(`${USERS[name]}.seed`),
      TOOLFABRIC_BUS_KEYS_FILE: file('bus-keys.json'),
      TOOLFABRIC_SIGNING_KEY_FILE: file('signing.pem'),
      TOOLFABRIC_SIGNING_KID: 'bench-router',
      TOOLFABRIC_PUBLIC_KEYS_FILE: file('public-keys.json'),
      TOOLFABRIC_PACE: 'production',
      TOOLFABRIC_KINDS: KIND,
      TOOLFABRIC_TOKENS_FILE: file('tokens.json'),
      TOOLFABRIC_GATEWAY_PORT: '0',
      TRUTH_FILE: file('truth.log'),
      ...env,
    });
    this.#services[name] = service;
    return service;
  }

  async #startTraces(root: string): Promise<void> {
    this.#traceWriter = spawnService(join(root, 'apps/trace-writer'), {
      TOOLFABRIC_NATS_URL: this.server.url,
      TOOLFABRIC_NKEY_SEED_FILE: join(this.#directory, 'trace-writer.seed'),
      TOOLFABRIC_BUS_KEYS_FILE: join(this.#directory, 'bus-keys.json'),
      TOOLFABRIC_KINDS: KIND,
      TOOLFABRIC_TRACE_STORE: 'chdb',
      TOOLFABRIC_TRACE_DIR: join(this.#directory, 'traces'),
    });
    await this.#traceWriter.ready;
  }

  /** Lets the services end by themselves, so that they write their profiles, and then stops the rest. */
  async drain(): Promise<void> {
    for (const name of ['gateway', 'worker', 'router'] as const) {
      const service = this.#services[name];
      service?.kill('SIGTERM');
      await service?.exited;
    }
    await this.stop();
  }

  async stop(): Promise<void> {
    const services = [...Object.values(this.#services), ...(this.#traceWriter ? [this.#traceWriter] : [])];
    for (const service of services) service.kill('SIGKILL');
    await Promise.all(services.map(({ exited }) => exited));
    await this.server.stop();
    // An engine ends a moment after the writer that was killed.
    rmSync(this.#directory, { recursive: true, force: true, maxRetries: 10 });
  }

  #writeFiles(tokens: readonly object[]): void {
    const write = (name: string, text: string) => writeFileSync(join(this.#directory, name), text, { mode: 0o600 });
    const { privateKey, entry } = generateSigningKey('bench-router', ['router']);
    mkdirSync(this.#directory, { recursive: true });
    write('tokens.json', JSON.stringify(tokens));
    write('redaction.key', randomBytes(32).toString('base64'));
    write('signing.pem', privateKey);
    write('public-keys.json', JSON.stringify([entry]));
    write('bus-keys.json', JSON.stringify(this.server.keys.publicKeys));
    for (const [user, seed] of Object.entries(this.server.keys.seeds)) write(`${user}.seed`, seed);
  }
}
