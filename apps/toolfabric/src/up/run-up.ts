/**
 * Everything on one machine: in one process, beside the bus server and the way out, which are its children.
 *
 * U1 One `up` a state folder.
 * U2 Start order: bus, its streams, artifact store, trace writer, egress, workers, router, gateway. Stop order: gateway,
 *    workers, egress, router, trace writer, artifact store, streams, bus; the router goes after the workers, so that it
 *    settles what their drain ended, and the trace writer after all of them, so that it takes in what they told last.
 * U3 Nothing of it outlives this process.
 */
import { FabricError, type Logger, PACES } from '@toolfabric/kernel';
import { firstFailure, type RunningService, type Starter, startAll, stopAll, within } from '@toolfabric/service-host';
import type { ClientFile } from '../cli/connect.ts';
import type { Config } from '../config.ts';
import { findPrograms } from '../programs/programs.ts';
import { checkPort } from './check-port.ts';
import { openLog } from './open-log.ts';
import { ensureOwnToken } from './own-token.ts';
import { ensureRedactionKey } from './redaction-key.ts';
import { gatewayAddress, serviceStarters } from './services.ts';
import { ensureSigningKeys } from './signing-keys.ts';
import { startBus, startProvisioned } from './start-bus.ts';
import { claimStateDir, stateFiles, writePrivate } from './state-dir.ts';
import { takeStateLock } from './state-lock.ts';
import { ensureVaultKey } from './vault-key.ts';

export interface UpOptions {
  readonly stateDir: string;
  readonly port: number;
  readonly roots: readonly string[];
  readonly allowRootOwned: boolean;
  readonly config: Config;
}

/** How `up` ended by itself, beside the end of `work`. */
export type UpEnd<T> = { readonly failure: string } | { readonly value: T };

/** Longer than any service drains. */
const STOP_MS = 40_000;

/** Starts everything, runs `work`, and stops everything again, however `work` ends. Rejects where something does not start. */
export const runUp = async <T>(options: UpOptions, work: (client: ClientFile) => Promise<T>): Promise<UpEnd<T>> => {
  const files = stateFiles(options.stateDir);
  claimStateDir(files);
  const programs = findPrograms(options.config.path);
  await checkPort(options.port);
  const lock = await takeStateLock(files.lock, programs.flock); // U1
  const log = openLog(files.log);
  try {
    const token = ensureOwnToken(files);
    const running = await startEverything(options, log.loggerFor).catch((thrown: unknown) => {
      throw startFailure(thrown);
    });
    try {
      const client = { address: gatewayAddress(running), token };
      writePrivate(files.client, `${JSON.stringify(client)}\n`);
      const failed = firstFailure(running).then((failure) => ({ failure }));
      return await Promise.race([failed, work(client).then((value) => ({ value }))]);
    } finally {
      await stopInTime(running, log.loggerFor('up'));
    }
  } finally {
    log.close();
    await lock.release();
  }
};

const startEverything = async (
  options: UpOptions,
  loggerFor: (service: string) => Logger,
): Promise<readonly RunningService[]> => {
  const { config, stateDir } = options;
  const files = stateFiles(stateDir);
  const pace = PACES[config.pace];
  const programs = findPrograms(config.path);
  const busOptions = { files, programs, pace, logger: loggerFor('bus') };
  ensureSigningKeys(files);
  ensureRedactionKey(files.redactionKey);
  ensureVaultKey(files.vaultKey);
  const bus = await startBus(busOptions);
  const starters: readonly Starter[] = [
    async () => bus,
    () => startProvisioned(busOptions, bus),
    ...serviceStarters({ ...options, ...config, files, bus: bus.address, setpriv: programs.setpriv, loggerFor }),
  ];
  return startAll(starters); // U2
};

/** Nobody has called anything yet, so that the text of any error is the operator's own and may be shown. */
const startFailure = (thrown: unknown): FabricError => {
  if (thrown instanceof FabricError) return thrown;
  const text = thrown instanceof Error ? thrown.message : String(thrown);
  return new FabricError('unavailable', `could not start: ${text}`, {
    cause: thrown,
    hint: 'Run `toolfabric doctor`.',
  });
};

/** U2: the last of these stops first. */
const forStopping = (running: readonly RunningService[]): RunningService[] => {
  const [bus, streams, artifacts, traces, egress, cli, web, router, gateway] = running;
  const order = [bus, streams, artifacts, traces, router, egress, cli, web, gateway];
  return order.filter((service) => service !== undefined);
};

const stopInTime = async (running: readonly RunningService[], logger: Logger): Promise<void> => {
  const stopped = await within(
    stopAll(forStopping(running)).then(
      () => true,
      () => false,
    ),
    STOP_MS,
  );
  if (stopped !== true) logger.error(stopped === undefined ? 'stop_took_too_long' : 'stop_failed');
};
