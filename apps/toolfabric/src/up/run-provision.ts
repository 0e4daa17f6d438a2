import { readFileSync } from 'node:fs';
import { type Difference, SIZES, topologyFor } from '@toolfabric/bus-nats';
import { createLogger, PACES } from '@toolfabric/kernel';
import { UsageError } from '../cli/usage-error.ts';
import type { Config } from '../config.ts';
import { asProvisioner, type ProvisionOptions, provisionOnce } from './provision.ts';

const optionsOf = ({ provision: { servers, nkeySeedFile, kinds, sizes }, pace }: Config): ProvisionOptions => {
  if (servers === undefined) throw new UsageError('TOOLFABRIC_NATS_URL is not set');
  if (nkeySeedFile === undefined) throw new UsageError('TOOLFABRIC_NKEY_SEED_FILE is not set');
  return {
    servers: servers.split(','),
    nkeySeed: readFileSync(nkeySeedFile, 'utf8').trim(),
    topology: topologyFor(kinds, PACES[pace], SIZES[sizes]),
    logger: createLogger('provisioner'),
  };
};

/** What differs from the topology of this version; changes nothing. */
export const planBus = (config: Config): Promise<Difference[]> => {
  const options = optionsOf(config);
  return asProvisioner(options, (provisioner) => provisioner.plan(options.topology));
};

/** One round of the provisioner. Gives the version of the topology that is in place. */
export const provisionBus = async (config: Config): Promise<number> => {
  const options = optionsOf(config);
  await provisionOnce(options);
  return options.topology.version;
};
