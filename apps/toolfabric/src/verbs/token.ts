import { Actor } from '@toolfabric/contract';
import type { TokenEntry } from '@toolfabric/gateway/start';
import { stateDirOf } from '../cli/connect.ts';
import { EXIT } from '../cli/exit-codes.ts';
import { UsageError } from '../cli/usage-error.ts';
import { CONNECT_FLAGS, type Context, JSON_FLAG, type Verb } from '../cli/verb.ts';
import { stateFiles } from '../up/state-dir.ts';

const STATE_FLAGS = { ...(CONNECT_FLAGS['state'] && { state: CONNECT_FLAGS['state'] }), ...JSON_FLAG };

const fileOf = ({ args, config }: Context): string => stateFiles(stateDirOf(args, config)).tokens;

const line = ({ id, tenant, user, agent, rights, expiresAt, disabled }: TokenEntry): string => {
  const until = expiresAt === undefined ? 'no expiry' : `until ${new Date(expiresAt).toISOString()}`;
  return `${id.padEnd(16)} ${tenant}/${user}/${agent}  ${disabled ? 'disabled' : until}  ${rights.join(', ') || 'calls only'}`;
};

const list: Verb = {
  name: 'token list',
  summary: 'List the tokens of the fabric on this machine; their texts are not kept.',
  usage: '',
  positionals: [0, 0],
  flags: STATE_FLAGS,
  run: async (context) => {
    const { readTokens } = await import('../up/tokens-file.ts');
    const entries = readTokens(fileOf(context));
    const shown = entries.map(({ sha256: _hash, ...entry }) => entry);
    context.output.show(shown, entries.map(line).join('\n') || 'no tokens');
    return EXIT.ok;
  },
};

const add: Verb = {
  name: 'token add',
  summary: 'Make a token for one user and agent of a tenant; it is shown this once.',
  usage: '<id>',
  positionals: [1, 1],
  flags: {
    tenant: { type: 'string', value: 'TENANT', help: 'the agent product or team' },
    user: { type: 'string', value: 'USER', help: 'the person' },
    agent: { type: 'string', value: 'AGENT', help: 'the agent that acts for them' },
    right: {
      type: 'string',
      value: 'RIGHT',
      multiple: true,
      help: 'what it may do beside calling tools, such as registry:publish or approvals:decide',
    },
    days: { type: 'string', value: 'N', help: 'days until it expires; without it, never' },
    ...STATE_FLAGS,
  },
  run: async (context) => {
    const { args, output } = context;
    const who = Actor.safeParse({ tenant: args.text('tenant'), user: args.text('user'), agent: args.text('agent') });
    if (!who.success) {
      const wrong = who.error.issues.map(({ path, message }) => `--${path.join('.')}: ${message}`);
      throw new UsageError(wrong.join('; '));
    }
    const days = args.integer('days', 1, 3650);
    const expiry = days === undefined ? {} : { expiresAt: Date.now() + days * 86_400_000 };
    const id = args.positionals[0] ?? '';
    const { addToken } = await import('../up/tokens-file.ts');
    const token = addToken(fileOf(context), { id, ...who.data, rights: args.list('right'), ...expiry });
    output.show({ id, token }, token);
    return EXIT.ok;
  },
};

const revoke: Verb = {
  name: 'token revoke',
  summary: 'Take a token away; a running gateway follows within a second.',
  usage: '<id>',
  positionals: [1, 1],
  flags: STATE_FLAGS,
  run: async (context) => {
    const id = context.args.positionals[0] ?? '';
    const { revokeToken } = await import('../up/tokens-file.ts');
    revokeToken(fileOf(context), id);
    context.output.show({ revoked: id }, `revoked ${id}`);
    return EXIT.ok;
  },
};

export const TOKEN_VERBS: readonly Verb[] = [list, add, revoke];
