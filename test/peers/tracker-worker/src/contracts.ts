/** Contracts of the test-only pool `tracker`: an outside service that is real, and whose log says what happened. */

const text = (most: number, description: string) => ({ type: 'string', minLength: 1, maxLength: most, description });
const NUMBER = { type: 'integer', minimum: 1, maximum: 999_999, description: 'The number of the issue.' };
const KEY = text(200, 'What the comment is called, to find it again.');
const BODY = text(8_000, 'The text of the comment.');

const input = (properties: object, required: string[]) => ({
  type: 'object',
  additionalProperties: false,
  required,
  properties,
});

const tool = (name: string, what: string, shape: ReturnType<typeof input>, example: object, governance: object) => ({
  name: `issue.${name}`,
  version: '1.0.0',
  toolset: 'issue',
  capability: {
    intent: `issue.${name}`,
    description: `${what} The tracker stands outside of the fabric: nothing here can make its write undone.`,
    use_when: ['A test needs an outside service with a truth of its own.'],
    not_for: ['Anything outside of a test: use the tools of a real tracker.'],
    examples: [{ arguments: example }],
  },
  input: shape,
  execution: {
    adapter: 'web',
    handler: `issue.${name}`,
    isolation: 'process',
    timeout_ms: 15_000,
    pools: ['tracker'],
  },
  output: { format: 'json', budget_bytes: 8_192 },
  governance,
});

const COMMENT = input({ number: NUMBER, body: BODY, key: KEY }, ['number', 'body', 'key']);
const COMMENT_EXAMPLE = { number: 4821, body: 'Both suites pass.', key: 'verdict' };
const ONE_ISSUE = input({ number: NUMBER }, ['number']);

const comment = (name: string, what: string, governance: object) =>
  tool(name, what, COMMENT, COMMENT_EXAMPLE, {
    risk: 'external_write',
    idempotent: false,
    effect_scope: 'issue.comment',
    operation_key: '{/number} {/key}',
    ...governance,
  });

const WINDOW_MS = 20_000;

export const TRACKER_CONTRACTS: readonly object[] = [
  tool('read', 'Reads one issue.', ONE_ISSUE, { number: 4821 }, { risk: 'read', idempotent: true }),
  tool(
    'comments',
    'Lists the comments of an issue, or those of one key.',
    input({ number: NUMBER, key: KEY }, ['number']),
    { number: 4821, key: 'verdict' },
    { risk: 'read', idempotent: true },
  ),
  comment('comment', 'Writes a comment; its probe looks for the key.', {
    reconcile: { by: 'probe', fence: 'none', window_ms: WINDOW_MS },
  }),
  comment('comment_once', 'Writes a comment to a tracker that knows a repeated request by its key.', {
    reconcile: { by: 'probe', fence: 'dedupe', window_ms: WINDOW_MS },
  }),
  comment('comment_asked', 'Writes a comment; another tool is asked whether it stands there.', {
    reconcile: {
      by: 'query',
      query: {
        tool: 'issue.comments@1.0.0',
        arguments: { number: '{/number}', key: '{/key}' },
        id: 'data.comments[0].id',
        absent: 'data.complete',
      },
      window_ms: WINDOW_MS,
    },
  }),
  comment('comment_kept', 'Writes a comment once for ever: the tracker is asked about each key before its first run.', {
    effect_scope: 'issue.comment_kept',
    operation_days: 1,
    reconcile: {
      by: 'query',
      history: true,
      query: {
        tool: 'issue.comments@1.0.0',
        arguments: { number: '{/number}', key: '{/key}' },
        id: 'data.comments[0].id',
        absent: 'data.complete',
      },
      window_ms: WINDOW_MS,
    },
  }),
  tool('note', 'Writes a comment whose identity the caller gives.', COMMENT, COMMENT_EXAMPLE, {
    risk: 'external_write',
    idempotent: false,
    reconcile: { by: 'probe', fence: 'none', window_ms: WINDOW_MS },
  }),
  tool(
    'close',
    'Closes an issue for good.',
    ONE_ISSUE,
    { number: 4821 },
    {
      risk: 'irreversible',
      idempotent: false,
      operation_key: '{/number}',
      reconcile: { by: 'probe', fence: 'none', window_ms: WINDOW_MS },
    },
  ),
];
