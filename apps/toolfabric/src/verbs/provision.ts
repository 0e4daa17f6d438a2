import { readFileSync } from 'node:fs';
import { type Difference, SIZES, topologyFor } from '@toolfabric/bus-nats';
import { createLogger, PACES } from '@toolfabric/kernel';
import { EXIT } from '../cli/exit-codes.ts';
import { UsageError } from '../cli/usage-error.ts';
import { JSON_FLAG, type Verb } from '../cli/verb.ts';
import type { Config } from '../config.ts';
import { asProvisioner, provisionOnce } from '../up/provision.ts';

const line = ({ action, target, fields }: Difference): string =>
  `${action.padEnd(10)} ${target}${fields.length === 0 ? '' : `  ${fields.join(', ')}`}`;

export const provision: Verb = {
  name: 'provision',
  summary: 'Make the streams and consumers of a bus what this version needs (`up` does so by itself).',
  usage: '',
  positionals: [0, 0],
  flags: { plan: { type: 'boolean', help: 'only say what differs; exit code 1 when something does' }, ...JSON_FLAG },
  notes: `Reads TOOLFABRIC_NATS_URL, TOOLFABRIC_NKEY_SEED_FILE (of the user provisioner), TOOLFABRIC_KINDS (cli),
TOOLFABRIC_SIZES (cluster or laptop) and TOOLFABRIC_PACE. Also empties the slot of the ring that the next week uses.`,
  run: async ({ args, config, output }) => {
    const options = { ...optionsOf(config), logger: createLogger('provisioner') };
    if (!args.on('plan')) {
      await provisionOnce(options);
      output.show({ provisioned: options.topology.version }, `topology ${options.topology.version} is in place`);
      return EXIT.ok;
    }
    const plan = await asProvisioner(options, (provisioner) => provisioner.plan(options.topology));
    output.show(plan, plan.map(line).join('\n') || 'nothing differs');
    return plan.length === 0 ? EXIT.ok : EXIT.toolError;
  },
};

const optionsOf = ({ provision: { servers, nkeySeedFile, kinds, sizes }, pace }: Config) => {
  if (servers === undefined) throw new UsageError('TOOLFABRIC_NATS_URL is not set');
  if (nkeySeedFile === undefined) throw new UsageError('TOOLFABRIC_NKEY_SEED_FILE is not set');
  return {
    servers: servers.split(','),
    nkeySeed: readFileSync(nkeySeedFile, 'utf8').trim(),
    topology: topologyFor(kinds, PACES[pace], SIZES[sizes]),
  };
};
