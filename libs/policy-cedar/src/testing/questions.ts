import { draftOf, loadBuiltinContracts } from '@toolfabric/catalogue';
import { type Actor, type RegistryRecord, type RiskGroup, ToolContract } from '@toolfabric/contract';
import type { CallFacts, PolicyQuestion } from '@toolfabric/ports';
import type { PolicySource } from '../policy-files.ts';

const recordOf = (contract: ToolContract): RegistryRecord => ({ ...draftOf(contract), state: 'published' });

/** For tests: a built-in tool. */
export const toolNamed = (name: string): RegistryRecord => {
  const contract = loadBuiltinContracts().find((one) => one.name === name);
  if (contract === undefined) throw new Error(`there is no ${name}`);
  return recordOf(contract);
};

/** For tests: a tool of a level, and the same with some of its governance changed. */
export const toolOf = (risk: RiskGroup, governance: Record<string, unknown> = {}): RegistryRecord =>
  recordOf(
    ToolContract.parse({
      name: 'sample.act',
      version: '1.0.0',
      toolset: 'sample',
      capability: {
        intent: 'sample.act',
        description: 'Does something to a text that it is given.',
        use_when: ['x'],
        not_for: ['y'],
        examples: [{ arguments: { text: 'a' } }],
      },
      input: {
        type: 'object',
        additionalProperties: false,
        required: ['text'],
        properties: {
          text: { type: 'string', enum: ['a', 'b', 'c'] },
          count: { type: 'integer', minimum: 0, maximum: 3 },
          all: { type: 'boolean' },
          names: { type: 'array', items: { type: 'string' } },
        },
      },
      execution: { adapter: 'cli', handler: 'sample.act', isolation: 'process', timeout_ms: 10_000 },
      output: { format: 'json', budget_bytes: 4_096 },
      governance: { risk, idempotent: true, ...governance },
    }),
  );

export const questionFor = (
  tool: RegistryRecord,
  actor: Actor,
  facts: Partial<CallFacts> = {},
  args: Record<string, unknown> = { text: 'a' },
): PolicyQuestion => ({
  actor,
  task: { taskId: `t-${'0'.repeat(26)}`, actor, title: '', state: 'open', createdAt: 0 },
  tool,
  args,
  facts: {
    hosts: [],
    paths: [],
    writes: [],
    credential: 'none',
    environment: 'development',
    taint: [],
    risk: tool.contract.governance.risk,
    raisedBy: [],
    roles: [],
    ...facts,
  },
});

/** For tests: one file `rules.cedar` a tenant. */
export const sourceOf = (byTenant: Readonly<Record<string, string>>): PolicySource => ({
  tenants: new Map(
    Object.entries(byTenant).map(([tenant, text]) => [
      tenant,
      { files: [{ path: `tenants/${tenant}/rules.cedar`, text }], settings: { show_denied: false } },
    ]),
  ),
});
