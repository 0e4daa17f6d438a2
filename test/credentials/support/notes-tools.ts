import { defineTool } from '@toolfabric/worker-runtime';
import { z } from 'zod';

export const KIND = 'notes';

/** Tools that differ in whom they act as. */
export const HANDLES = {
  mine: 'user:notes',
  ours: 'tenant:notes',
  anyones: 'shared:notes',
  login: 'user:login',
} as const;

const PATH = { type: 'string', minLength: 1, maxLength: 100, description: 'What is read, such as /notes.' };

const contractOf = (name: string, credential: string, port: number) => ({
  name: `notes.${name}`,
  version: '1.0.0',
  toolset: 'notes',
  capability: {
    intent: `notes.${name}`,
    description: 'Reads the notes that somebody else keeps. It acts with an account there.',
    use_when: ['A test needs a service that knows who is calling.'],
    not_for: ['Anything outside of a test: use url.fetch.'],
    examples: [{ arguments: { path: '/notes' } }],
  },
  input: { type: 'object', additionalProperties: false, required: ['path'], properties: { path: PATH } },
  execution: {
    adapter: 'web',
    handler: 'notes.read',
    isolation: 'process',
    timeout_ms: 20_000,
    pools: [KIND],
    network: 'permit',
    options: { base: `http://127.0.0.1:${port}` },
    egress: {
      rules: [
        { host: '127.0.0.1', scheme: 'http', ports: [port], methods: ['GET'], addresses: ['127.0.0.0/8'], credential },
      ],
      max_bytes: 1_000_000,
      max_connections: 4,
    },
  },
  output: { format: 'json', budget_bytes: 8_192 },
  governance: { risk: 'read', idempotent: true },
});

/** Contracts of tools that read from the peer at this port. */
export const notesContracts = (port: number): object[] =>
  Object.entries(HANDLES).map(([name, handle]) => contractOf(name, handle, port));

export const notesTool = defineTool({
  handler: 'notes.read',
  effect: 'none',
  args: z.strictObject({ path: z.string() }),
  handle: async ({ egress, options, signal }, { path }) => {
    if (egress === undefined) throw new Error('there is no way out');
    const url = new URL(path, String(options['base']));
    const response = await egress.request({ method: 'GET', url, headers: {}, signal });
    const parts: Uint8Array[] = [];
    for await (const part of response.body) parts.push(part);
    return {
      status: 'ok',
      summary: `status ${response.status}`,
      data: { status: response.status, text: Buffer.concat(parts).toString('utf8') },
      sideEffect: 'none',
      // Else the next use of a credential would ask a person.
      trust: 'trusted',
    };
  },
});
