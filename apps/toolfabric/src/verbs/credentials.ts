import { withFabric } from '../cli/connect.ts';
import { EXIT } from '../cli/exit-codes.ts';
import { UsageError } from '../cli/usage-error.ts';
import { CONNECT_FLAGS, type Verb } from '../cli/verb.ts';
import { listenForRedirect } from '../credentials/await-redirect.ts';
import { credentialLine, describeCredential, describeTest } from '../credentials/describe-credential.ts';
import { DRAFT_FLAGS, draftOf } from '../credentials/draft-of.ts';
import { SECRET_FLAGS, secretParts } from '../credentials/secret-parts.ts';

const WHOSE =
  'A user: credential is that of the user of the token. One of tenant: or shared: acts for the whole tenant,\n' +
  'and needs a token with the right credentials:manage.';

const add: Verb = {
  name: 'credentials add',
  summary: 'Add a credential that tools act with, or give one a new secret.',
  usage: '<handle>',
  positionals: [1, 1],
  flags: { ...DRAFT_FLAGS, ...SECRET_FLAGS, ...CONNECT_FLAGS },
  notes:
    'The secret comes from standard input or a file, and leaves this process as what only the vault can read:\n' +
    '  toolfabric credentials add user:tracker --account ada@example.com --host tracker.example.com < token.txt\n' +
    `What is said is the whole credential: what is left out of a second \`add\` is gone.\n${WHOSE}`,
  run: async (context) => {
    const { args, output, signal } = context;
    const draft = draftOf(args, Date.now());
    const secret = await secretParts(draft.kind, args, { stdin: process.stdin, signal });
    return withFabric(context, async (fabric, request) => {
      const added = await fabric.addCredential({ ...draft, ...(secret === undefined ? {} : { secret }) }, request);
      output.show(added, describeCredential(added, Date.now()));
      if (added.state === 'needs_login') output.note(`now: toolfabric credentials login ${added.handle}`);
      return EXIT.ok;
    });
  },
};

const list: Verb = {
  name: 'credentials list',
  summary: 'List the credentials that this token can see; secrets are never shown.',
  usage: '',
  positionals: [0, 0],
  flags: {
    after: { type: 'string', value: 'NEXT', help: 'the page after this one' },
    limit: { type: 'string', value: 'N', help: 'credentials on a page, 100 at most (50)' },
    ...CONNECT_FLAGS,
  },
  notes: `Shows those of its user, and those of the tenant.\n${WHOSE}`,
  run: (context) =>
    withFabric(context, async (fabric, request) => {
      const { args, output } = context;
      const [after, limit] = [args.text('after'), args.integer('limit', 1, 100)];
      const which = { ...(after === undefined ? {} : { after }), ...(limit === undefined ? {} : { limit }) };
      const page = await fabric.listCredentials(which, request);
      const more = page.next === undefined ? [] : [`more: --after ${page.next}`];
      const lines = page.credentials.map((credential) => credentialLine(credential, Date.now()));
      output.show(page, [...lines, ...more].join('\n') || 'no credentials');
      return EXIT.ok;
    }),
};

const revoke: Verb = {
  name: 'credentials revoke',
  summary: 'Take a credential away: connections that show it are closed, and no call begins with it.',
  usage: '<handle>',
  positionals: [1, 1],
  flags: CONNECT_FLAGS,
  notes: `The other side still knows the secret: revoke it there as well.\n${WHOSE}`,
  run: (context) =>
    withFabric(context, async (fabric, request) => {
      const revoked = await fabric.revokeCredential(context.args.positionals[0] ?? '', request);
      context.output.show(revoked, describeCredential(revoked, Date.now()));
      return EXIT.ok;
    }),
};

const test: Verb = {
  name: 'credentials test',
  summary: 'Make one request to the test address of a credential, and say what came back.',
  usage: '<handle>',
  positionals: [1, 1],
  flags: CONNECT_FLAGS,
  notes: 'Needs a --test-address of `credentials add`. Exit code 1 for anything but a status from 200 to 299.',
  run: (context) =>
    withFabric(context, async (fabric, request) => {
      const answer = await fabric.testCredential(context.args.positionals[0] ?? '', request);
      const { status } = answer;
      context.output.show(answer, describeTest(answer));
      return status !== undefined && status >= 200 && status < 300 ? EXIT.ok : EXIT.toolError;
    }),
};

/** Until the login that waits is over, or the person gives up. */
const untilOver = (expiresAt: number, signal: AbortSignal): AbortSignal =>
  AbortSignal.any([signal, AbortSignal.timeout(Math.max(1, expiresAt - Date.now()))]);

const login: Verb = {
  name: 'credentials login',
  summary: 'Log in as the owner of a credential, with a browser on this machine.',
  usage: '<handle>',
  positionals: [1, 1],
  flags: {
    port: { type: 'string', value: 'N', help: 'port that the browser comes back to on 127.0.0.1 (a free one)' },
    ...CONNECT_FLAGS,
  },
  notes:
    'For credentials of the kind authorization-code. The authorisation server must let the client come back to\n' +
    'http://127.0.0.1:<port>/callback; one that wants the exact port needs --port.',
  run: (context) =>
    withFabric(context, async (fabric, request) => {
      const { args, output, signal } = context;
      const handle = args.positionals[0] ?? '';
      const port = args.integer('port', 1_024, 65_535) ?? 0;
      const listener = await listenForRedirect(port).catch((thrown: NodeJS.ErrnoException) => {
        throw new UsageError(`--port ${port}: cannot be listened on (${thrown.code ?? 'unknown'})`);
      });
      try {
        const { address, state, expiresAt } = await fabric.beginLogin(handle, listener.redirectUri, request);
        output.note(`open this address in a browser on this machine:\n\n  ${address}\n`);
        const { url } = await listener.wait(state, untilOver(expiresAt, signal)).catch((thrown: unknown) => {
          if (signal.aborted) throw thrown;
          throw new UsageError('nobody came back from the login in time; begin again');
        });
        const completed = await fabric.completeLogin(handle, { state, address: url }, request);
        output.show(completed, describeCredential(completed, Date.now()));
        return EXIT.ok;
      } finally {
        listener.close();
      }
    }),
};

export const CREDENTIAL_VERBS: readonly Verb[] = [add, list, login, test, revoke];
