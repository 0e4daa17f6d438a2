import { resolve } from 'node:path';
import { renderServerConfig, SIZES, topologyFor } from '@toolfabric/bus-nats';
import { Token } from '@toolfabric/contract';
import { PACES } from '@toolfabric/kernel';
import { EXIT } from '../cli/exit-codes.ts';
import { UsageError } from '../cli/usage-error.ts';
import { JSON_FLAG, type Verb } from '../cli/verb.ts';
import { ensureBusKeys } from '../up/bus-keys.ts';
import { ensureSigningKeys } from '../up/signing-keys.ts';
import { stateFiles, writePrivate } from '../up/state-dir.ts';

export const keys: Verb = {
  name: 'keys',
  summary: 'Write the keys of all services and the configuration of the bus, for a cluster.',
  usage: '',
  positionals: [0, 0],
  flags: {
    out: { type: 'string', value: 'DIR', help: 'folder to write to; what is there already is kept' },
    listen: { type: 'string', value: 'HOST:PORT', help: 'where the bus listens (0.0.0.0:4222)' },
    store: { type: 'string', value: 'DIR', help: 'where the bus stores, on its own machine (/data)' },
    kind: { type: 'string', value: 'KIND', multiple: true, help: 'name of a pool of workers (cli)' },
    ...JSON_FLAG,
  },
  notes: 'Writes keys/<user>.nk, keys/signing.pem, keys/public-keys.json and nats/server.conf, readable by you alone.',
  run: async ({ args, output }) => {
    const out = args.text('out');
    if (out === undefined) throw new UsageError('give --out DIR');
    const files = stateFiles(resolve(out));
    const given = args.list('kind');
    const kinds = given.length === 0 ? ['cli'] : given;
    if (!kinds.every((kind) => Token.safeParse(kind).success)) throw new UsageError(`--kind: ${kinds.join(', ')}`);
    const { host, port } = endpoint(args.text('listen') ?? '0.0.0.0:4222');
    const { totalBytes: fileStoreBytes } = topologyFor(kinds, PACES.production, SIZES.laptop);
    const publicKeys = ensureBusKeys(files.keys, kinds);
    ensureSigningKeys(files);
    const storeDir = args.text('store') ?? '/data';
    const server = renderServerConfig({ kinds, publicKeys, host, port, storeDir, fileStoreBytes });
    writePrivate(files.nats.config, `${server}http: "${host}:8222"\n`);
    output.show(
      { keys: files.keys, serverConfig: files.nats.config },
      `keys in ${files.keys}\nbus in ${files.nats.config}`,
    );
    return EXIT.ok;
  },
};

const endpoint = (text: string): { host: string; port: number } => {
  const [, host = '', port = ''] = /^(\[[0-9a-f:]+\]|[\w.-]+):(\d{1,5})$/i.exec(text) ?? [];
  if (host === '') throw new UsageError(`--listen ${text}: give HOST:PORT`);
  return { host, port: Number(port) };
};
