import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { parseYaml } from '@toolfabric/catalogue';
import { Token } from '@toolfabric/contract';
import { FabricError } from '@toolfabric/kernel';
import { z } from 'zod';

export interface PolicyFile {
  /** Relative to the folder of policies. */
  readonly path: string;
  readonly text: string;
}

export const TenantSettings = z.strictObject({
  /** Tools that no arguments could make allowed are listed nevertheless, marked denied. */
  show_denied: z.boolean().default(false),
});
export type TenantSettings = z.infer<typeof TenantSettings>;

export interface TenantFiles {
  readonly files: readonly PolicyFile[];
  readonly settings: TenantSettings;
}

/** One set of policies as it stands on disk. The base rules are built in. */
export interface PolicySource {
  /** In the place of the rules that come with the fabric. */
  readonly defaults?: PolicyFile;
  readonly tenants: ReadonlyMap<string, TenantFiles>;
}

/** What is enforced, and what is only tried beside it. */
export interface PolicyFolder {
  readonly active: PolicySource;
  readonly shadow?: PolicySource;
}

const MOST_BYTES = 1024 * 1024;
const MOST_FILES = 500;

const refuse = (path: string, why: string): never => {
  throw new FabricError('invalid_request', `${path}: ${why}`);
};

/** Names below a folder; those that begin with a dot are not looked at (a mounted ConfigMap has such). */
const namesIn = (folder: string): string[] => {
  const names = readdirSync(folder).filter((name) => !name.startsWith('.'));
  if (names.length > MOST_FILES) refuse(folder, `more than ${MOST_FILES} files`);
  return names.sort();
};

const readText = (root: string, path: string): PolicyFile => {
  const file = join(root, path);
  if (statSync(file).size > MOST_BYTES) refuse(path, `larger than ${MOST_BYTES} bytes`);
  return { path, text: readFileSync(file, 'utf8') };
};

const settingsIn = ({ path, text }: PolicyFile): TenantSettings => {
  let value: unknown;
  try {
    value = parseYaml(text);
  } catch {
    return refuse(path, 'is no YAML');
  }
  const read = TenantSettings.safeParse(value ?? {});
  return read.success ? read.data : refuse(path, z.prettifyError(read.error));
};

const SETTINGS = 'settings.yaml';
/** What may stand beside policies and is none. */
const isBeside = (name: string): boolean => /\.(md|test\.yaml)$/.test(name);

const readTenant = (root: string, folder: string): TenantFiles => {
  const files: PolicyFile[] = [];
  let settings = TenantSettings.parse({});
  for (const name of namesIn(join(root, folder))) {
    const path = `${folder}/${name}`;
    if (name === SETTINGS) settings = settingsIn(readText(root, path));
    else if (/^[a-z0-9][a-z0-9_-]{0,62}\.cedar$/.test(name)) files.push(readText(root, path));
    else if (!isBeside(name)) refuse(path, `is no policy: a file is named like payments.cedar, or is ${SETTINGS}`);
  }
  return { files, settings };
};

const readTenants = (root: string, folder: string): Map<string, TenantFiles> => {
  const tenants = new Map<string, TenantFiles>();
  for (const name of namesIn(join(root, folder))) {
    if (isBeside(name)) continue;
    const path = `${folder}/${name}`;
    if (!Token.safeParse(name).success || !statSync(join(root, path)).isDirectory())
      refuse(path, 'is no folder of a tenant');
    tenants.set(name, readTenant(root, path));
  }
  return tenants;
};

const readSource = (root: string, folder: string, isTop: boolean): PolicySource & { hasShadow: boolean } => {
  let defaults: PolicyFile | undefined;
  let tenants = new Map<string, TenantFiles>();
  let hasShadow = false;
  for (const name of namesIn(join(root, folder))) {
    const path = folder === '' ? name : `${folder}/${name}`;
    if (name === 'default.cedar') defaults = readText(root, path);
    else if (name === 'tenants') tenants = readTenants(root, path);
    else if (name === 'shadow' && isTop) hasShadow = true;
    else if (!isBeside(name))
      refuse(
        path,
        'is not known here: default.cedar, tenants/<tenant>/*.cedar and shadow/ are; the base rules are built in',
      );
  }
  return { ...(defaults === undefined ? {} : { defaults }), tenants, hasShadow };
};

/**
 * Reads a folder of policies: `default.cedar`, `tenants/<tenant>/*.cedar` with an optional `settings.yaml`, and the same
 * below `shadow/`. Throws `invalid_request` that names the file which is not known or too large, or a file system error.
 */
export const readPolicyFolder = (root: string): PolicyFolder => {
  const { hasShadow, ...active } = readSource(root, '', true);
  if (!hasShadow) return { active };
  const { hasShadow: _none, ...shadow } = readSource(root, 'shadow', false);
  return { active, shadow };
};

export const NO_FILES: PolicyFolder = { active: { tenants: new Map() } };
