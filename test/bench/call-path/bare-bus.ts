import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { connect, type NatsConnection, nkeyAuthenticator } from '@nats-io/transport-node';
import { CORE_ACCOUNT, generateBusKeys, workerUser } from '@toolfabric/bus-nats';
import { TemporaryServer } from '@toolfabric/bus-nats/testing';
import { PACES } from '@toolfabric/kernel';
import type { BarePoint } from './jobs.ts';

export const BARE_KIND = 'bare';
export const ECHO_SUBJECT = 'bench.echo';

/** A provisioned bus server with the fabric's own accounts, and one user beside them that may use every subject. */
export const startOpenServer = async (kinds: readonly string[]): Promise<{ server: TemporaryServer; seed: string }> => {
  const server = await TemporaryServer.start({ kinds, pace: PACES.production, provisioned: false });
  const keys = generateBusKeys(['open']);
  const [publicKey, seed] = [keys.publicKeys[workerUser('open')], keys.seeds[workerUser('open')]];
  if (publicKey === undefined || seed === undefined) throw new Error('no key for the open user');
  await server.kill();
  const file = join(server.directory, 'server.conf');
  const config = await readFile(file, 'utf8');
  const core = new RegExp(`("${CORE_ACCOUNT}": \\{[\\s\\S]*?users: \\[\\n)`);
  const opened = config.replace(core, `$1      { nkey: "${publicKey}" }\n`);
  if (opened === config) throw new Error('the configuration of the bus server has another form than expected');
  await writeFile(file, opened);
  await server.restart();
  await server.provision();
  return { server, seed };
};

export const barePointOf = (server: TemporaryServer, open: string): BarePoint => {
  const { router = '', [workerUser(BARE_KIND)]: worker = '' } = server.keys.seeds;
  return { url: server.url, seeds: { open, router, worker }, publicKeys: server.keys.publicKeys };
};

export const connectOpen = (url: string, seed: string): Promise<NatsConnection> =>
  connect({ servers: url, authenticator: nkeyAuthenticator(new TextEncoder().encode(seed)), noAsyncTraces: true });
