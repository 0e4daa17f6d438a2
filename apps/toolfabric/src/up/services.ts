import { realpathSync } from 'node:fs';
import { delimiter, dirname, join, resolve } from 'node:path';
import { FabricError, type Logger, type PaceName } from '@toolfabric/kernel';
import type { RunningService, Starter } from '@toolfabric/service-host';
import { findProgram } from '../programs/find-program.ts';
import { sampleFolder } from '../story/sample-repository.ts';
import { publicFileOf, seedFileOf } from './bus-keys.ts';
import { startEgressProcess } from './egress-process.ts';
import { OWN_TENANT } from './own-token.ts';
import { SIGNING_KID } from './signing-keys.ts';
import { KINDS } from './start-bus.ts';
import { makePrivateDir, type StateFiles } from './state-dir.ts';

type Environment = Readonly<Record<string, string>>;

export interface ServiceOptions {
  readonly files: StateFiles;
  /** `host:port` of the bus. */
  readonly bus: string;
  readonly pace: PaceName;
  readonly isTest: boolean;
  readonly faults: string;
  /** Folders that tasks may use or clone. */
  readonly roots: readonly string[];
  readonly allowRootOwned: boolean;
  readonly port: number;
  readonly path: string;
  /** Where the system has it. */
  readonly setpriv: string | undefined;
  /** Settings that a person gave beside what is made here. */
  readonly passedOn: Environment;
  loggerFor(service: string): Logger;
}

/** What a container of that service would find in its environment. */
const environmentOf = (options: ServiceOptions, user: string, own: Environment): Environment => ({
  PATH: options.path,
  TOOLFABRIC_NATS_URL: `nats://${options.bus}`,
  TOOLFABRIC_NKEY_SEED_FILE: seedFileOf(options.files.keys, user),
  TOOLFABRIC_BUS_KEYS_FILE: publicFileOf(options.files.keys),
  TOOLFABRIC_PUBLIC_KEYS_FILE: options.files.publicKeys,
  TOOLFABRIC_PACE: options.pace,
  TOOLFABRIC_TEST: options.isTest ? '1' : '0',
  TOOLFABRIC_FAULTS: options.faults,
  ...options.passedOn,
  ...own,
});

/** A list as in `PATH`. Throws for a folder that would be read as two. */
const pathList = (folders: readonly string[]): string => {
  const split = folders.find((folder) => folder.includes(delimiter));
  if (split === undefined) return folders.join(delimiter);
  throw new FabricError('invalid_arguments', `the folder ${JSON.stringify(split)} has a "${delimiter}" in its path`, {
    hint: `Give a folder without "${delimiter}" in its path with --state and --root.`,
  });
};

/** No task sees the state folder, wherever it lies; of it, only the sample of the story can be cloned. */
export const foldersOf = ({ files, roots }: Pick<ServiceOptions, 'files' | 'roots'>): Environment => {
  const sample = sampleFolder(files.root);
  return {
    TOOLFABRIC_STATE_DIR: files.workspaces,
    TOOLFABRIC_WORKSPACE_ROOTS: pathList(roots),
    TOOLFABRIC_PROTECTED_DIRS: pathList([files.root]),
    TOOLFABRIC_CLONE_SOURCES: roots.includes(sample) ? sample : '',
  };
};

const artifactStarter =
  (options: ServiceOptions): Starter =>
  async () => {
    const [{ readConfig }, { start }] = await Promise.all([
      import('@toolfabric/artifacts/config'),
      import('@toolfabric/artifacts/start'),
    ]);
    makePrivateDir(options.files.artifacts);
    const own = { TOOLFABRIC_ARTIFACTS_DIR: options.files.artifacts, TOOLFABRIC_ARTIFACTS_PORT: '0' };
    return start(readConfig(environmentOf(options, 'artifacts', own)), options.loggerFor('artifacts'));
  };

const traceStarter =
  (options: ServiceOptions): Starter =>
  async () => {
    const [{ readConfig }, { start }] = await Promise.all([
      import('@toolfabric/trace-writer/config'),
      import('@toolfabric/trace-writer/start'),
    ]);
    makePrivateDir(options.files.traces);
    const own = { TOOLFABRIC_TRACE_STORE: 'chdb', TOOLFABRIC_TRACE_DIR: options.files.traces };
    return start(readConfig(environmentOf(options, 'trace-writer', own)), options.loggerFor('trace-writer'));
  };

const egressStarter =
  (options: ServiceOptions): Starter =>
  () => {
    const { files, setpriv, loggerFor } = options;
    const env = environmentOf(options, 'egress', {
      TOOLFABRIC_EGRESS_SOCKET: files.egress.socket,
      TOOLFABRIC_EGRESS_KINDS: KINDS.join(','),
      TOOLFABRIC_EGRESS_CA_CERT_FILE: files.egress.caFile,
      TOOLFABRIC_EGRESS_CA_KEY_FILE: files.egress.caKeyFile,
      TOOLFABRIC_EGRESS_CA_CREATE: '1',
      TOOLFABRIC_VAULT_KEY_FILES: files.vaultKey,
    });
    return startEgressProcess({ files: files.egress, setpriv, env, logger: loggerFor('egress') });
  };

/**
 * The services in the order in which they start: workers know the artifact store and the way out, the router's first look
 * finds the workers, the gateway finds the router.
 */
export const serviceStarters = (options: ServiceOptions): readonly Starter[] => {
  let artifacts: Environment = {};
  const startArtifacts = async () => {
    const service = await artifactStarter(options)();
    artifacts = { TOOLFABRIC_ARTIFACTS_URL: `http://${addressOf(service)}` };
    return service;
  };
  const { redactionKey, egress } = options.files;
  const given = {
    TOOLFABRIC_REDACTION_KEY_FILE: redactionKey,
    TOOLFABRIC_EGRESS_SOCKET: egress.socket,
    TOOLFABRIC_EGRESS_CA_FILE: egress.caFile,
  };
  const calls = callStarters(options, () => ({ ...artifacts, ...given }));
  return [startArtifacts, traceStarter(options), egressStarter(options), ...calls];
};

/** What `web.search` looks through: a folder of the state folder, where a person puts documents, unless another was given. */
export const documentsOf = ({ files, passedOn }: Pick<ServiceOptions, 'files' | 'passedOn'>): Environment => {
  if (passedOn['TOOLFABRIC_SEARCH_FOLDER'] !== undefined) return {};
  makePrivateDir(join(files.documents, OWN_TENANT));
  return { TOOLFABRIC_SEARCH_FOLDER: resolve(files.documents) };
};

/** Where a machine keeps its programs; commands look there in any case. */
const SYSTEM_FOLDERS = ['/usr/local/bin', '/usr/bin', '/bin'];

/** Node of the system where there is one, else the one that this runs on: a machine that runs `up` can run node in a task. */
const toolchainOf = ({ passedOn }: Pick<ServiceOptions, 'passedOn'>): Environment =>
  passedOn['TOOLFABRIC_TOOLCHAIN_DIRS'] !== undefined || findProgram('node', SYSTEM_FOLDERS.join(delimiter))
    ? {}
    : { TOOLFABRIC_TOOLCHAIN_DIRS: dirname(dirname(realpathSync(process.execPath))) };

const addressOf = ({ name, address }: RunningService): string => {
  if (address === undefined) throw new Error(`${name} says no address`);
  return address;
};

/** The services that a call goes through. `shared` is what they are told of the others, once these run. */
const callStarters = (options: ServiceOptions, shared: () => Environment): readonly Starter[] => [
  async () => {
    const [{ readConfig }, { start }] = await Promise.all([
      import('@toolfabric/worker-cli/config'),
      import('@toolfabric/worker-cli/start'),
    ]);
    const own = {
      ...shared(),
      ...toolchainOf(options),
      ...foldersOf(options),
      TOOLFABRIC_ALLOW_ROOT_OWNED: options.allowRootOwned ? '1' : '0',
    };
    return start(readConfig(environmentOf(options, 'worker-cli', own)), options.loggerFor('worker-cli'));
  },
  async () => {
    const [{ readConfig }, { start }] = await Promise.all([
      import('@toolfabric/worker-web/config'),
      import('@toolfabric/worker-web/start'),
    ]);
    const own = { ...shared(), ...documentsOf(options) };
    return start(readConfig(environmentOf(options, 'worker-web', own)), options.loggerFor('worker-web'));
  },
  async () => {
    const [{ readConfig }, { start }] = await Promise.all([
      import('@toolfabric/router/config'),
      import('@toolfabric/router/start'),
    ]);
    const own = {
      ...shared(),
      TOOLFABRIC_KINDS: KINDS.join(','),
      TOOLFABRIC_SIGNING_KEY_FILE: options.files.signingKey,
      TOOLFABRIC_SIGNING_KID: SIGNING_KID,
    };
    return start(readConfig(environmentOf(options, 'router', own)), options.loggerFor('router'));
  },
  async () => {
    const [{ readConfig }, { start }] = await Promise.all([
      import('@toolfabric/gateway/config'),
      import('@toolfabric/gateway/start'),
    ]);
    const own = {
      ...shared(),
      TOOLFABRIC_TOKENS_FILE: options.files.tokens,
      TOOLFABRIC_GATEWAY_PORT: String(options.port),
    };
    return start(readConfig(environmentOf(options, 'gateway', own)), options.loggerFor('gateway'));
  },
];

/** The front door among services that run. */
export const gatewayAddress = (services: readonly RunningService[]): string => {
  const gateway = services.find(({ name }) => name === 'gateway');
  if (gateway === undefined) throw new Error('the gateway does not run');
  return addressOf(gateway);
};
