import { renderServerConfig, SIZES, topologyFor } from '@toolfabric/bus-nats';
import { PACES } from '@toolfabric/kernel';
import { ensureBusKeys } from './bus-keys.ts';
import { ensureRedactionKey } from './redaction-key.ts';
import { ensureSigningKeys } from './signing-keys.ts';
import { stateFiles, writePrivate } from './state-dir.ts';
import { ensureVaultKey } from './vault-key.ts';

export interface ClusterKeys {
  readonly out: string;
  readonly kinds: readonly string[];
  readonly host: string;
  readonly port: number;
  /** On the machine of the bus. */
  readonly storeDir: string;
}

/** Makes the keys that are missing and writes the configuration of the bus. Gives where they are. */
export const writeKeys = ({
  out,
  kinds,
  host,
  port,
  storeDir,
}: ClusterKeys): { keys: string; serverConfig: string } => {
  const files = stateFiles(out);
  const { totalBytes: fileStoreBytes } = topologyFor(kinds, PACES.production, SIZES.laptop);
  const publicKeys = ensureBusKeys(files.keys, kinds);
  ensureSigningKeys(files);
  ensureRedactionKey(files.redactionKey);
  ensureVaultKey(files.vaultKey);
  const server = renderServerConfig({ kinds, publicKeys, host, port, storeDir, fileStoreBytes });
  writePrivate(files.nats.config, `${server}http: "${host}:8222"\n`);
  return { keys: files.keys, serverConfig: files.nats.config };
};
