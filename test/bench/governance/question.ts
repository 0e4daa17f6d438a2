import { draftOf, loadBuiltinContracts } from '@toolfabric/catalogue';
import type { Actor } from '@toolfabric/contract';
import type { PolicySource } from '@toolfabric/policy-cedar';
import type { PolicyQuestion } from '@toolfabric/ports';

export const READ_TOOL = 'workspace.read_file';

/** A question about a built-in tool, with facts as the router finds them for a plain call. */
export const questionFor = (name: string, actor: Actor): PolicyQuestion => {
  const contract = loadBuiltinContracts().find((one) => one.name === name);
  if (contract === undefined) throw new Error(`there is no ${name}`);
  return {
    actor,
    task: { taskId: `t-${'0'.repeat(26)}`, actor, title: '', state: 'open', createdAt: 0 },
    tool: { ...draftOf(contract), state: 'published' },
    args: { path: 'src/app.ts' },
    facts: {
      hosts: [],
      paths: ['src/app.ts'],
      writes: [],
      credential: 'none',
      environment: 'production',
      taint: [],
      risk: contract.governance.risk,
      raisedBy: [],
      roles: [],
    },
  };
};

/** One file of policies a tenant. */
export const sourceOf = (byTenant: Readonly<Record<string, string>>): PolicySource => ({
  tenants: new Map(
    Object.entries(byTenant).map(([tenant, text]) => [
      tenant,
      { files: [{ path: `tenants/${tenant}/rules.cedar`, text }], settings: { show_denied: false } },
    ]),
  ),
});
