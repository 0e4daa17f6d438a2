import { resolve } from 'node:path';
import type { Difference } from '@toolfabric/bus-nats';
import { Token } from '@toolfabric/contract';
import { EXIT } from '../cli/exit-codes.ts';
import { UsageError } from '../cli/usage-error.ts';
import { JSON_FLAG, type Verb } from '../cli/verb.ts';

export const keys: Verb = {
  name: 'keys',
  summary: 'Write the keys of all services and the configuration of the bus, for a cluster.',
  usage: '',
  positionals: [0, 0],
  flags: {
    out: { type: 'string', value: 'DIR', help: 'folder to write to; keys that are there already are kept' },
    listen: { type: 'string', value: 'HOST:PORT', help: 'where the bus listens (0.0.0.0:4222)' },
    store: { type: 'string', value: 'DIR', help: 'where the bus stores, on its own machine (/data)' },
    kind: { type: 'string', value: 'KIND', multiple: true, help: 'name of a pool of workers (cli and web)' },
    ...JSON_FLAG,
  },
  notes:
    'Writes keys/<user>.nk, keys/signing.pem, keys/public-keys.json, keys/vault.key and nats/server.conf, for you alone.',
  run: async ({ args, config, output }) => {
    const out = args.text('out');
    if (out === undefined) throw new UsageError('give --out DIR');
    const given = args.list('kind');
    const kinds = given.length === 0 ? config.provision.kinds : given;
    if (!kinds.every((kind) => Token.safeParse(kind).success)) throw new UsageError(`--kind: ${kinds.join(', ')}`);
    const where = endpoint(args.text('listen') ?? '0.0.0.0:4222');
    const { writeKeys } = await import('../up/write-keys.ts');
    const written = writeKeys({ out: resolve(out), kinds, ...where, storeDir: args.text('store') ?? '/data' });
    output.show(written, `keys in ${written.keys}\nbus in ${written.serverConfig}`);
    return EXIT.ok;
  },
};

const endpoint = (text: string): { host: string; port: number } => {
  const [, host = '', port = ''] = /^(\[[0-9a-f:]+\]|[\w.-]+):(\d{1,5})$/i.exec(text) ?? [];
  if (host === '') throw new UsageError(`--listen ${text}: give HOST:PORT`);
  return { host, port: Number(port) };
};

const line = ({ action, target, fields }: Difference): string =>
  `${action.padEnd(10)} ${target}${fields.length === 0 ? '' : `  ${fields.join(', ')}`}`;

export const provision: Verb = {
  name: 'provision',
  summary: 'Make the streams and consumers of a bus what this version needs (`up` does so by itself).',
  usage: '',
  positionals: [0, 0],
  flags: { plan: { type: 'boolean', help: 'only say what differs; exit code 1 when something does' }, ...JSON_FLAG },
  notes: `Reads TOOLFABRIC_NATS_URL, TOOLFABRIC_NKEY_SEED_FILE (of the user provisioner), TOOLFABRIC_KINDS (cli,web),
TOOLFABRIC_SIZES (cluster or laptop) and TOOLFABRIC_PACE. Also empties the slot of the ring that the next week uses.`,
  run: async ({ args, config, output }) => {
    const { planBus, provisionBus } = await import('../up/run-provision.ts');
    if (!args.on('plan')) {
      const version = await provisionBus(config);
      output.show({ provisioned: version }, `topology ${version} is in place`);
      return EXIT.ok;
    }
    const plan = await planBus(config);
    output.show(plan, plan.map(line).join('\n') || 'nothing differs');
    return plan.length === 0 ? EXIT.ok : EXIT.toolError;
  },
};
