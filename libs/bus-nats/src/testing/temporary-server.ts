import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PACES, type Pace } from '@toolfabric/kernel';
import type { BusConfig } from '../bus-connection.ts';
import { type BusKeys, generateBusKeys } from '../nkeys.ts';
import { connectProvisioner, type Provisioner } from '../provisioner.ts';
import { renderServerConfig } from '../server-config.ts';
import { SIZES, type Sizes } from '../sizes.ts';
import { prepareStore } from '../store-repair/index.ts';
import { topologyFor } from '../topology.ts';
import { freePort } from './free-port.ts';
import { launchServer, type ServerProcess } from './launch-server.ts';
import { RawUser } from './raw-user.ts';
import { serverVersion } from './server-version.ts';
import { waitFor } from './wait-for.ts';

export interface TemporaryServerOptions {
  readonly kinds: readonly string[];
  /** The test pace when left out. */
  readonly pace?: Pace;
  /** What differs from the sizes of a laptop. */
  readonly sizes?: Partial<Sizes>;
  readonly program?: string;
  /** False leaves the server without streams. */
  readonly provisioned?: boolean;
}

/** Whether the kernel has stopped the process; where it cannot be read, the signal must do. */
const isStopped = async (pid: number): Promise<boolean> => {
  if (process.platform !== 'linux') return true;
  const tasks = await readdir(`/proc/${pid}/task`);
  const states = await Promise.all(tasks.map((task) => readFile(`/proc/${pid}/task/${task}/stat`, 'utf8')));
  return states.every((stat) => /\) [TtZX] /.test(stat));
};

const HOST = '127.0.0.1';

/**
 * A real bus server as a child on a free loopback port, with the real accounts, its own keys and a store of its own. It
 * dies with this process.
 */
export class TemporaryServer {
  readonly keys: BusKeys;
  readonly kinds: readonly string[];
  readonly pace: Pace;
  readonly sizes: Sizes;
  readonly port: number;
  readonly directory: string;
  readonly #program: string;
  #process: ServerProcess | undefined;

  private constructor(options: TemporaryServerOptions, port: number, directory: string) {
    this.kinds = options.kinds;
    this.pace = options.pace ?? PACES.test;
    this.sizes = { ...SIZES.laptop, ...options.sizes };
    this.keys = generateBusKeys(options.kinds);
    this.port = port;
    this.directory = directory;
    this.#program = options.program ?? 'nats-server';
  }

  static async start(options: TemporaryServerOptions): Promise<TemporaryServer> {
    const directory = await mkdtemp(join(tmpdir(), 'toolfabric-bus-'));
    const server = new TemporaryServer(options, await freePort(), directory);
    await mkdir(server.#store);
    await server.writeConfig();
    await server.restart();
    if (options.provisioned !== false) await server.provision();
    return server;
  }

  get url(): string {
    return `nats://${HOST}:${this.port}`;
  }

  get topology() {
    return topologyFor(this.kinds, this.pace, this.sizes);
  }

  get pid(): number {
    return this.#running.pid;
  }

  /** How a service connects as one of the users. */
  configFor(user: string, name = user): BusConfig {
    const nkeySeed = this.keys.seeds[user];
    if (nkeySeed === undefined) throw new Error(`there is no bus user ${user}`);
    return { servers: this.url, nkeySeed, publicKeys: this.keys.publicKeys, name };
  }

  provisioner(): Promise<Provisioner> {
    return connectProvisioner(this.configFor('provisioner'));
  }

  async provision(): Promise<void> {
    const provisioner = await this.provisioner();
    await provisioner.apply(this.topology);
    await provisioner.close();
  }

  /** A bare connection for trying what the user must not do. */
  async rawUser(user: string): Promise<RawUser> {
    return RawUser.connect(this.url, user, this.configFor(user).nkeySeed);
  }

  /** SIGKILL; resolves when the process is gone. */
  async kill(): Promise<void> {
    await this.#end('SIGKILL');
  }

  /** Starts the server again on the same port and store; it must be gone before. */
  async restart(): Promise<void> {
    if (this.#process !== undefined) throw new Error('the bus server still runs');
    const configFile = join(this.directory, 'server.conf');
    await prepareStore(this.#store, await serverVersion(this.#program));
    this.#process = await launchServer({ program: this.#program, configFile, host: HOST, port: this.port });
  }

  /** SIGSTOP; resolves when every thread of it stands still. */
  async pause(): Promise<void> {
    const { pid } = this.#running;
    this.#running.kill('SIGSTOP');
    await waitFor(() => isStopped(pid), { everyMs: 2, what: 'the pause of the bus server' });
  }

  resume(): void {
    this.#running.kill('SIGCONT');
  }

  /** Ends the server and deletes its store. Safe to call twice. */
  async stop(): Promise<void> {
    if (this.#process !== undefined) await this.#end('SIGKILL');
    await rm(this.directory, { recursive: true, force: true });
  }

  get #store(): string {
    return join(this.directory, 'store');
  }

  get #running(): ServerProcess {
    if (this.#process === undefined) throw new Error('the bus server does not run');
    return this.#process;
  }

  async #end(signal: NodeJS.Signals): Promise<void> {
    const running = this.#running;
    running.kill(signal);
    await running.exited;
    this.#process = undefined;
  }

  /** Takes effect at the next restart; other keys shut out everybody who is connected. */
  async writeConfig(publicKeys = this.keys.publicKeys): Promise<void> {
    const config = renderServerConfig({
      kinds: this.kinds,
      publicKeys,
      host: HOST,
      port: this.port,
      storeDir: this.#store,
      fileStoreBytes: Math.ceil(this.topology.totalBytes * 1.1),
    });
    await writeFile(join(this.directory, 'server.conf'), config, { mode: 0o600 });
  }
}
