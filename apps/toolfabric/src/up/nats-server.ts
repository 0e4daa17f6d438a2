/**
 * The bus of one machine: a nats-server as a child of this process.
 *
 * N1 One server a store: a leftover of an earlier run is ended before the store is opened.
 * N2 A store that a newer server wrote is never opened by an older one.
 * N3 A server that ends is started again on its port (S1 of a supervised child).
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
import { lastLines } from '../programs/last-lines.ts';
import { identify, isAlive, ProcessIdentity } from '../programs/process-identity.ts';
import { SupervisedChild } from '../programs/supervised-child.ts';
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
/** Starts the server on a free loopback port. `address` of the result is `host:port`. */
export const startNatsServer = async (options: NatsOptions): Promise<RunningService & { readonly address: string }> => {
  makePrivateDir(options.files.store);
  const version = await checkVersion(options);
  await endLeftover(options);
  const port = await freePort();
  writePrivate(options.files.config, options.configFor(port));
  const server = new SupervisedChild({
    name: 'nats-server',
    logFile: options.files.log,
    begin: (isFirst) => begin(options, version, isFirst),
    answers: () => greets(port),
    lastWords: () => lastLines(options.files.log),
    logger: options.logger,
  });
  await server.start();
  return {
    name: 'nats-server',
    address: `${HOST}:${port}`,
    failed: server.failed,
    async stop() {
      await server.stop();
      rmSync(options.files.pid, { force: true });
    },
  };
};

/** One process of it, noted so that a later run finds it (N1). */
const begin = async (
  { program, setpriv, files }: NatsOptions,
  version: string,
  isFirst: boolean,
): Promise<ChildProcess> => {
  await prepareStore(files.store, version); // N4
  const log = openSync(files.log, isFirst ? 'w' : 'a', 0o600);
  const child = startGuarded({ program, args: ['-c', files.config], setpriv, log, env: {} });
  closeSync(log);
  const identity = child.pid === undefined ? undefined : identify(child.pid);
  if (identity) writePrivate(files.pid, JSON.stringify(identity));
  return child;
};

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
