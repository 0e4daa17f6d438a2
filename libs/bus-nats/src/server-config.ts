import { type AccountRights, CORE_ACCOUNT, permissionsFor, type Share } from './permissions.ts';
import { MAX_STORED_BYTES } from './topology.ts';

export interface ServerConfig {
  readonly kinds: readonly string[];
  /** Public NKeys by user, for every user of `permissionsFor(kinds)`. */
  readonly publicKeys: Readonly<Record<string, string>>;
  readonly host: string;
  readonly port: number;
  readonly storeDir: string;
  /** Bytes that the streams may take together; at least the topology's total. */
  readonly fileStoreBytes: number;
}

const text = (value: string): string => JSON.stringify(value);
const list = (values: readonly string[]): string => `[${values.map(text).join(', ')}]`;

const renderUser = (account: AccountRights, publicKeys: ServerConfig['publicKeys']): string[] =>
  account.users.map(({ user, publish, subscribe }) => {
    const key = publicKeys[user];
    if (key === undefined) throw new Error(`no public key for the bus user ${user}`);
    const rights = `publish: { allow: ${list(publish)} }, subscribe: { allow: ${list(subscribe)} }`;
    return `      { nkey: ${text(key)}, permissions: { ${rights} } }`;
  });

type ShareType = 'service' | 'stream';

const ownerOf = (share: Share): string => share.from ?? CORE_ACCOUNT;

const renderImport = (type: ShareType, share: Share): string => {
  const { subject, as } = share;
  const renamed = as === undefined ? '' : `, to: ${text(as)}`;
  return `      { ${type}: { account: ${text(ownerOf(share))}, subject: ${text(subject)} }${renamed} }`;
};

/** What one account offers, by subject, since several accounts may use the same one. */
const exportsOf = (type: ShareType, owner: string, all: readonly AccountRights[]): string[] => {
  const takers = new Map<string, string[]>();
  for (const account of all) {
    for (const share of type === 'service' ? account.services : account.feeds) {
      if (ownerOf(share) !== owner) continue;
      takers.set(share.subject, [...(takers.get(share.subject) ?? []), account.account]);
    }
  }
  return [...takers].map(([subject, names]) => `      { ${type}: ${text(subject)}, accounts: ${list(names)} }`);
};

const renderAccount = (rights: AccountRights, all: readonly AccountRights[], keys: ServerConfig['publicKeys']) => [
  `  ${text(rights.account)}: {`,
  ...(rights.streams ? ['    jetstream: enabled'] : []),
  '    users: [',
  ...renderUser(rights, keys),
  '    ]',
  '    exports: [',
  ...exportsOf('service', rights.account, all),
  ...exportsOf('stream', rights.account, all),
  '    ]',
  '    imports: [',
  ...rights.services.map((share) => renderImport('service', share)),
  ...rights.feeds.map((share) => renderImport('stream', share)),
  '    ]',
  '  }',
];

/** The configuration of one server that is alone, as its file wants it. A cluster takes the accounts from here. */
export const renderServerConfig = (config: ServerConfig): string => {
  const accounts = permissionsFor(config.kinds);
  return [
    `listen: ${text(`${config.host}:${config.port}`)}`,
    `max_payload: ${MAX_STORED_BYTES + 8192}`,
    'ping_interval: "10s"',
    'authorization: { timeout: 10 }',
    'jetstream: {',
    `  store_dir: ${text(config.storeDir)}`,
    `  max_file_store: ${config.fileStoreBytes}`,
    '  max_memory_store: 16777216',
    '}',
    'accounts: {',
    ...accounts.flatMap((account) => renderAccount(account, accounts, config.publicKeys)),
    '}',
    '',
  ].join('\n');
};
