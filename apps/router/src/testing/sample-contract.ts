import { parseContract } from '@toolfabric/catalogue';
import type { ToolContract } from '@toolfabric/contract';

export interface SampleChanges {
  readonly name?: string;
  readonly version?: string;
  readonly description?: string;
  readonly execution?: Record<string, unknown>;
  readonly output?: Record<string, unknown>;
  readonly governance?: Record<string, unknown>;
}

/** For tests: a read that can be published as it stands, and the same with some of its layers changed. */
export const sampleContract = (changes: SampleChanges = {}): ToolContract =>
  parseContract({
    name: changes.name ?? 'notes.find',
    version: changes.version ?? '1.0.0',
    toolset: 'notes',
    capability: {
      intent: changes.name ?? 'notes.find',
      description:
        changes.description ?? 'Finds the notes of a workspace that contain a text, and returns their paths.',
      use_when: ['A note that was kept earlier is needed again.'],
      not_for: ['Reading a whole file: use workspace.read_file.'],
      examples: [{ arguments: { text: 'retry' } }],
    },
    input: {
      type: 'object',
      additionalProperties: false,
      required: ['text'],
      properties: {
        text: { type: 'string', minLength: 1, maxLength: 30_000, description: 'What the note contains.' },
        most: { type: 'integer', minimum: 1, maximum: 100, description: 'How many notes to return.' },
      },
    },
    execution: {
      adapter: 'cli',
      handler: changes.name ?? 'notes.find',
      isolation: 'process',
      timeout_ms: 10_000,
      ...changes.execution,
    },
    output: { format: 'json', budget_bytes: 4_096, ...changes.output },
    governance: { risk: 'read', idempotent: true, claimless: true, ...changes.governance },
  });
