/**
 * The bus of one machine: a nats-server as a child of this process.
 *
 * N1 One server a store: a leftover of an earlier run is ended before the store is opened.
 * N2 A store that a newer server wrote is never opened by an older one.
 * N3 A server that ends is started again on its port, with growing pauses; after too many ends in a row it is given up.
 * N4 Before each start the blocks of the store are named so that this version recovers them in the order of writing.
 */
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, existsSync, openSync, readFileSync, rmSync } from 'node:fs';
import { type AddressInfo, connect, createServer } from 'node:net';
import { prepareStore } from '@toolfabric/bus-nats';
import { FabricError, type Logger, systemClock } from '@toolfabric/kernel';
import type { RunningService } from '@toolfabric/service-host';
import { askProgram, versionIn } from '../programs/ask-program.ts';
import { startGuarded } from '../programs/guarded-child.ts';
import { identify, isAlive, ProcessIdentity } from '../programs/process-identity.ts';
import { compareVersions } from '../programs/version-order.ts';
import { makePrivateDir, type StateFiles, writePrivate } from './state-dir.ts';

export interface NatsOptions {
  readonly files: StateFiles['nats'];
  readonly program: string;
  readonly setpriv: string | undefined;
  /** The text of the configuration for a port. */
  readonly configFor: (port: number) => string;
  readonly logger: Logger;
}

const HOST = '127.0.0.1';
const READY_MS = 30_000;
const STOP_MS = 10_000;
const MAX_ENDS = 6;
/** A server that ran for so long has earned a fresh count. */
const STEADY_MS = 60_000;
const FIRST_PAUSE_MS = 200;

/** Starts the server on a free loopback port. `address` of the result is `host:port`. */
export const startNatsServer = async (options: NatsOptions): Promise<RunningService & { readonly address: string }> => {
  makePrivateDir(options.files.store);
  const version = await checkVersion(options);
  await endLeftover(options);
  const port = await freePort();
  writePrivate(options.files.config, options.configFor(port));
  const server = new NatsServer(options, port, version);
  await server.start();
  return {
    name: 'nats-server',
    address: `${HOST}:${port}`,
    failed: server.failed,
    stop: () => server.stop(),
  };
};

class NatsServer {
  readonly failed: Promise<string>;
  readonly #options: NatsOptions;
  readonly #port: number;
  readonly #version: string;
  #fail: (reason: string) => void = () => {};
  #child: ChildProcess | undefined;
  #stopping = false;
  #ends = 0;

  constructor(options: NatsOptions, port: number, version: string) {
    this.#options = options;
    this.#port = port;
    this.#version = version;
    this.failed = new Promise((resolve) => {
      this.#fail = resolve;
    });
  }

  /** Throws `unavailable` when it does not answer in time. */
  async start(): Promise<void> {
    const { program, setpriv, files } = this.#options;
    await prepareStore(files.store, this.#version); // N4
    const log = openSync(files.log, this.#ends === 0 ? 'w' : 'a', 0o600);
    const child = startGuarded({ program, args: ['-c', files.config], setpriv, log, env: {} });
    closeSync(log);
    this.#child = child;
    const startedAt = systemClock.monotonic();
    child.once('error', () => {});
    child.once('exit', (code, signal) => {
      // Lets a shell guard whose shell was killed end the server as well.
      child.stdio[3]?.destroy();
      void this.#onEnd(startedAt, signal ?? `code ${code}`);
    });
    const identity = child.pid === undefined ? undefined : identify(child.pid);
    if (identity) writePrivate(files.pid, JSON.stringify(identity));
    await answers(this.#port, child, READY_MS, () => lastLines(files.log));
  }

  async stop(): Promise<void> {
    this.#stopping = true;
    const child = this.#child;
    if (child && child.exitCode === null && child.signalCode === null) {
      const ended = once(child, 'exit');
      child.kill('SIGTERM');
      const timer = setTimeout(() => child.kill('SIGKILL'), STOP_MS);
      await ended;
      clearTimeout(timer);
    }
    rmSync(this.#options.files.pid, { force: true });
  }

  async #onEnd(startedAt: number, how: string): Promise<void> {
    if (this.#stopping) return;
    if (systemClock.monotonic() - startedAt > STEADY_MS) this.#ends = 0;
    this.#ends += 1;
    this.#options.logger.error('nats_server_ended', { how, ends: this.#ends });
    if (this.#ends >= MAX_ENDS)
      return this.#fail(`nats-server ended ${MAX_ENDS} times; see ${this.#options.files.log}`); // N3
    await systemClock.sleep(FIRST_PAUSE_MS * 2 ** (this.#ends - 1));
    if (this.#stopping) return;
    const last = this.#child;
    await this.start().catch((error: unknown) => {
      // A child that came up and ended is counted by its own end.
      if (this.#child === last) return this.#onEnd(systemClock.monotonic(), String(error));
    });
    // A stop that came while it started did not see this child.
    if (this.#stopping) await this.stop();
  }
}

/** N2. Gives the version of the program. */
const checkVersion = async ({ program, files }: NatsOptions): Promise<string> => {
  const version = versionIn((await askProgram(program, ['--version'])).text);
  if (version === undefined) throw new FabricError('unavailable', `${program} does not say its version`);
  const written = existsSync(files.version) ? readFileSync(files.version, 'utf8').trim() : undefined;
  if (written !== undefined && compareVersions(version, written) < 0) {
    throw new FabricError(
      'conflict',
      `this state was written by nats-server ${written}, and ${program} is ${version}`,
      {
        hint: `Install nats-server ${written} or later, or give another folder with --state.`,
      },
    );
  }
  writePrivate(files.version, `${version}\n`);
  return version;
};

/** N1. Only the very process that an earlier run noted is ended. */
const endLeftover = async ({ files, logger }: NatsOptions): Promise<void> => {
  if (!existsSync(files.pid)) return;
  const noted = ProcessIdentity.safeParse(JSON.parse(readFileSync(files.pid, 'utf8')));
  if (noted.success && isAlive(noted.data)) {
    logger.warn('nats_server_left_over', { pid: noted.data.pid });
    process.kill(noted.data.pid, 'SIGKILL');
    while (isAlive(noted.data)) await systemClock.sleep(20);
  }
  rmSync(files.pid, { force: true });
};

const freePort = async (): Promise<number> => {
  const server = createServer().listen(0, HOST);
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, 'close');
  return port;
};

/** Resolves when the server greets; rejects when it ended or stays silent. */
const answers = async (port: number, child: ChildProcess, withinMs: number, log: () => string): Promise<void> => {
  const until = systemClock.monotonic() + withinMs;
  while (!(await greets(port))) {
    const ended = child.exitCode !== null || child.signalCode !== null || child.pid === undefined;
    if (ended || systemClock.monotonic() > until) {
      throw new FabricError('unavailable', `nats-server did not start: ${log()}`);
    }
    await systemClock.sleep(20);
  }
};

const greets = (port: number): Promise<boolean> =>
  new Promise((resolve) => {
    const socket = connect(port, HOST);
    const end = (answer: boolean) => {
      socket.destroy();
      resolve(answer);
    };
    socket.setTimeout(2_000, () => end(false));
    socket.once('error', () => end(false));
    socket.once('data', (greeting) => end(greeting.toString('latin1').startsWith('INFO ')));
  });

const lastLines = (file: string): string => readFileSync(file, 'utf8').trimEnd().split('\n').slice(-3).join(' | ');
