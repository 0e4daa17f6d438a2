/** Contracts of the test-only pool `truth`: writes whose truth is a log file, and reads that take as long as asked. */

const describe = (intent: string, what: string, examples: object) => ({
  intent,
  description: `${what} It exists for tests of the fabric: its log says what really happened, whoever believes what.`,
  use_when: ['A test needs an effect that can be counted.'],
  not_for: ['Anything outside of a test: use the workspace tools.'],
  examples: [{ arguments: examples }],
});

const TEXT = { type: 'string', minLength: 1, maxLength: 200, description: 'A short text.' };
const DELAY = { type: 'integer', minimum: 0, maximum: 30_000, description: 'Milliseconds to take.' };

const input = (properties: object, required: string[]) => ({
  type: 'object',
  additionalProperties: false,
  required,
  properties,
});

const write = (name: string, what: string, governance: object) => ({
  name: `truth.${name}`,
  version: '1.0.0',
  toolset: 'truth',
  capability: describe(`truth.${name}`, what, { identity: 'order-1' }),
  input: input({ identity: TEXT, delay_ms: DELAY }, ['identity']),
  execution: { adapter: 'cli', handler: `truth.${name}`, isolation: 'process', timeout_ms: 20_000, pools: ['truth'] },
  output: { format: 'json', budget_bytes: 4096 },
  governance: { idempotent: false, ...governance },
});

const read = (name: string, what: string, claimless: boolean) => ({
  name: `truth.${name}`,
  version: '1.0.0',
  toolset: 'truth',
  capability: describe(`truth.${name}`, what, {}),
  input: input({ delay_ms: DELAY }, []),
  execution: { adapter: 'cli', handler: `truth.${name}`, isolation: 'process', timeout_ms: 20_000, pools: ['truth'] },
  output: { format: 'json', budget_bytes: 4096 },
  governance: { risk: 'read', idempotent: true, claimless },
});

const apart = (name: string, what: string, properties: object, required: string[], governance: object) => ({
  name: `truth.${name}`,
  version: '1.0.0',
  toolset: 'truth',
  capability: describe(`truth.${name}`, what, required.length === 0 ? {} : { identity: 'order-1' }),
  input: input({ delay_ms: DELAY, ...properties }, required),
  execution: {
    adapter: 'cli',
    handler: `truth.${name}`,
    isolation: 'process',
    timeout_ms: 20_000,
    pools: ['truth'],
    background: true,
  },
  output: { format: 'json', budget_bytes: 4096 },
  governance,
});

const PROBE = { by: 'probe', fence: 'none', window_ms: 5_000 };

export const TRUTH_CONTRACTS = [
  /** Found by its probe, but nothing keeps a paused worker from writing later. */
  write('append', 'Appends a line to the truth log and can be looked up.', {
    risk: 'workspace_write',
    reconcile: PROBE,
  }),
  /** Nothing can ever tell what became of it. */
  write('append_blind', 'Appends a line to the truth log and cannot be looked up.', { risk: 'workspace_write' }),
  /** Needs a person, and has a business identity. */
  write('append_outside', 'Appends a line to the truth log as an outside effect.', {
    risk: 'external_write',
    operation_key: '{/identity}',
    reconcile: PROBE,
  }),
  read('noop', 'Does nothing and answers.', true),
  read('slow_read', 'Waits and answers, without a claim.', true),
  read('slow_claimed', 'Waits and answers, under a claim.', false),
  apart(
    'long_append',
    'Waits apart from its caller, then begins, waits again, and appends a line.',
    { identity: TEXT, hold_ms: DELAY },
    ['identity'],
    { risk: 'workspace_write', idempotent: false, reconcile: PROBE },
  ),
  apart('long_read', 'Waits apart from its caller, and answers.', {}, [], { risk: 'read', idempotent: true }),
];
