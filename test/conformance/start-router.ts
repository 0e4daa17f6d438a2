import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { ADA, type Cluster } from '../support/cluster.ts';
import type { AdapterUnderTest } from './adapter.ts';

export const RIVAL = 'rival';

/** A router in whose folder of policies one tenant forbids the tool of the write. */
export const startRouter = async (cluster: Cluster, { writeTool, policy = '' }: AdapterUnderTest): Promise<void> => {
  const folder = join(cluster.directory, 'policies');
  for (const tenant of [ADA.tenant, RIVAL]) mkdirSync(join(folder, 'tenants', tenant), { recursive: true });
  writeFileSync(join(folder, 'tenants', ADA.tenant, 'rules.cedar'), policy);
  const rule = `@id("not_here")\nforbid (principal, action == Action::"${writeTool}", resource);\n`;
  writeFileSync(join(folder, 'tenants', RIVAL, 'rules.cedar'), rule);
  // A fabric of one tenant, so that texts for a shell may be asked about.
  await cluster.spawn('router', '', { TOOLFABRIC_POLICY_DIR: folder, TOOLFABRIC_TENANCY: 'single' }).ready;
};
