import { ArtifactId, Sha256, Token } from '@toolfabric/contract';
import { randomId } from '@toolfabric/kernel';
import type { Family } from '../byte-store.ts';

/** Digits of a position in a log, so that its parts are listed in their order. */
const POSITION_DIGITS = 16;

const checked = (value: string, ok: boolean): string => {
  if (!ok) throw new Error('not a part of a key');
  return value;
};

const tenantFolder = (tenant: string): string => `${checked(tenant, Token.safeParse(tenant).success)}/`;
const idOf = (id: string): string => checked(id, ArtifactId.safeParse(id).success);

/** Every key, below the prefix of the bucket; made of tokens, digests and ids alone (B4). */
export const KEYS = {
  lease: 'lease.json',
  probe: (): string => `probe-${randomId()}`,
  /** Says that the tenant is there: some providers list no folder that holds folders only. */
  tenant: (tenant: string): string => `${tenantFolder(tenant)}tenant.json`,
  temporaryFolder: (tenant: string): string => `${tenantFolder(tenant)}tmp/`,
  temporary: (tenant: string): string => `${tenantFolder(tenant)}tmp/${randomId()}`,
  blobFolder: (tenant: string): string => `${tenantFolder(tenant)}sha256/`,
  blob: (tenant: string, sha256: string): string =>
    `${tenantFolder(tenant)}sha256/${checked(sha256, Sha256.safeParse(sha256).success)}`,
  documentFolder: (tenant: string, family: Family): string => `${tenantFolder(tenant)}${family}/`,
  document: (tenant: string, family: Family, name: string): string =>
    `${tenantFolder(tenant)}${family}/${checked(name, /^[ah]-[0-9a-z]{26}$/.test(name))}.json`,
  logsFolder: (tenant: string): string => `${tenantFolder(tenant)}logs/`,
  logFolder: (tenant: string, id: string): string => `${tenantFolder(tenant)}logs/${idOf(id)}/`,
  logPart: (tenant: string, id: string, position: number): string =>
    `${tenantFolder(tenant)}logs/${idOf(id)}/${String(position).padStart(POSITION_DIGITS, '0')}`,
} as const;

export const lastPart = (key: string): string => key.slice(key.lastIndexOf('/') + 1);
