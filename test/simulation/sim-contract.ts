import { ToolContract } from '@toolfabric/contract';

/** What the router reads of a contract after acceptance is the same for every tool of the simulation. */
export const SIM_CONTRACT: ToolContract = ToolContract.parse({
  name: 'sim.tool',
  version: '1.0.0',
  toolset: 'sim',
  capability: {
    intent: 'sim.tool',
    description: 'What the tools of the simulation have in common.',
    use_when: ['simulated'],
    not_for: ['anything else'],
    examples: [{ arguments: {} }],
  },
  input: { type: 'object' },
  execution: { adapter: 'cli', handler: 'sim.tool', isolation: 'process', timeout_ms: 6_000 },
  output: {
    format: 'json',
    budget_bytes: 10_000,
    schema: {
      type: 'object',
      additionalProperties: false,
      required: ['failed'],
      properties: { failed: { type: 'boolean' } },
    },
    error_when: 'data.failed',
  },
  governance: { risk: 'external_write', idempotent: false },
});

/** The same without rules: what a router must not take it for. */
export const laxContract = (): ToolContract => ({ ...SIM_CONTRACT, output: { format: 'json', budget_bytes: 10_000 } });
