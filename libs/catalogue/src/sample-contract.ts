import { type RegistryRecord, ToolContract } from '@toolfabric/contract';
import { draftOf } from './contract-digests.ts';

/** For tests: a contract that can be published, and the same with some of its layers changed. */
export interface SampleChanges {
  readonly name?: string;
  readonly version?: string;
  readonly toolset?: string;
  readonly internal?: boolean;
  readonly input?: Record<string, unknown>;
  readonly capability?: Record<string, unknown>;
  readonly execution?: Record<string, unknown>;
  readonly output?: Record<string, unknown>;
  readonly governance?: Record<string, unknown>;
}

export const SAMPLE_INPUT = {
  type: 'object',
  additionalProperties: false,
  required: ['path', 'text'],
  properties: {
    path: { type: 'string', minLength: 1, maxLength: 4096, description: 'Path relative to the workspace.' },
    text: { type: 'string', maxLength: 20_000, description: 'What the note says.' },
    expected_hash: { type: 'string', pattern: '^[0-9a-f]{64}$', maxLength: 64, description: 'Hash of the file.' },
  },
};

export const sampleContract = (changes: SampleChanges = {}): ToolContract =>
  ToolContract.parse({
    name: changes.name ?? 'notes.add_note',
    version: changes.version ?? '1.0.0',
    internal: changes.internal ?? false,
    toolset: changes.toolset ?? 'notes',
    capability: {
      intent: 'notes.add',
      description: 'Adds one note to a file of the workspace and returns the difference.',
      use_when: ['A finding must be kept for later in the workspace.'],
      not_for: ['Changing existing text: use workspace.edit_file.'],
      examples: [{ arguments: { path: 'notes/today.md', text: 'Checked.' } }],
      ...changes.capability,
    },
    input: changes.input ?? SAMPLE_INPUT,
    execution: {
      adapter: 'cli',
      handler: 'add_note',
      isolation: 'namespace',
      timeout_ms: 10_000,
      ...changes.execution,
    },
    output: { format: 'json', budget_bytes: 16_384, ...changes.output },
    governance: { risk: 'workspace_write', idempotent: false, reconcile: { by: 'probe' }, ...changes.governance },
  });

export const recordOf = (contract: ToolContract, state: RegistryRecord['state'] = 'published'): RegistryRecord => ({
  ...draftOf(contract),
  state,
});
