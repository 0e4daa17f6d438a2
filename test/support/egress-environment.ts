import { join } from 'node:path';
import type { AppName } from './cluster-apps.ts';

/** Files of the egress of a cluster in its directory. */
export const egressPlaces = (directory: string) => ({
  socket: join(directory, 'egress', 'socket'),
  caFile: join(directory, 'egress-ca.pem'),
  caKeyFile: join(directory, 'egress-ca.key'),
  vaultKeyFile: join(directory, 'vault.key'),
});

/** What a service is told of the way out: the egress of its files, everybody else of its socket. */
export const egressEnvironment = (
  app: AppName,
  directory: string,
  kinds: readonly string[],
): Record<string, string> => {
  const { socket, caFile, caKeyFile, vaultKeyFile } = egressPlaces(directory);
  if (app !== 'egress') return { TOOLFABRIC_EGRESS_SOCKET: socket, TOOLFABRIC_EGRESS_CA_FILE: caFile };
  return {
    TOOLFABRIC_EGRESS_SOCKET: socket,
    TOOLFABRIC_EGRESS_KINDS: kinds.join(','),
    TOOLFABRIC_EGRESS_CA_CERT_FILE: caFile,
    TOOLFABRIC_EGRESS_CA_KEY_FILE: caKeyFile,
    TOOLFABRIC_EGRESS_CA_CREATE: '1',
    TOOLFABRIC_VAULT_KEY_FILES: vaultKeyFile,
  };
};
