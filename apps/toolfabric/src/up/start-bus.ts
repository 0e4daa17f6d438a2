import { readFileSync } from 'node:fs';
import { renderServerConfig, SIZES, topologyFor } from '@toolfabric/bus-nats';
import { FabricError, type Logger, type Pace } from '@toolfabric/kernel';
import type { RunningService } from '@toolfabric/service-host';
import type { Programs } from '../programs/programs.ts';
import { ensureBusKeys, seedFileOf } from './bus-keys.ts';
import { startNatsServer } from './nats-server.ts';
import { startProvisioning } from './provision.ts';
import type { StateFiles } from './state-dir.ts';

/** The pools of one machine. */
export const KINDS = ['cli', 'web'] as const;

export interface BusOptions {
  readonly files: StateFiles;
  readonly programs: Programs;
  readonly pace: Pace;
  readonly logger: Logger;
}

export type Bus = RunningService & { readonly address: string };

/** The server with its real accounts; no stream yet. Throws `unavailable` where nats-server is missing. */
export const startBus = async ({ files, programs, pace, logger }: BusOptions): Promise<Bus> => {
  const program = programs['nats-server'];
  if (program === undefined) {
    throw new FabricError('unavailable', 'nats-server was not found', { hint: 'Run scripts/setup, or install it.' });
  }
  const publicKeys = ensureBusKeys(files.keys, KINDS);
  const { totalBytes } = topologyFor(KINDS, pace, SIZES.laptop);
  const configFor = (port: number) =>
    renderServerConfig({
      kinds: KINDS,
      publicKeys,
      host: '127.0.0.1',
      port,
      storeDir: files.nats.store,
      fileStoreBytes: totalBytes,
    });
  return startNatsServer({ files: files.nats, program, setpriv: programs.setpriv, configFor, logger });
};

/** What the provisioner needs to reach that server. */
export const provisioningOf = ({ files, pace, logger }: BusOptions, bus: Bus) => ({
  servers: `nats://${bus.address}`,
  nkeySeed: readFileSync(seedFileOf(files.keys, 'provisioner'), 'utf8').trim(),
  topology: topologyFor(KINDS, pace, SIZES.laptop),
  logger,
});

export const startProvisioned = (options: BusOptions, bus: Bus): Promise<RunningService> =>
  startProvisioning(provisioningOf(options, bus));
