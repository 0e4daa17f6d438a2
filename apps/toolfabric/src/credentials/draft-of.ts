import { CredentialDraft, type CredentialInjection, CredentialKind } from '@toolfabric/contract';
import type { Arguments, Flags } from '../cli/arguments.ts';
import { UsageError } from '../cli/usage-error.ts';

const DAY_MS = 86_400_000;
const LOGIN_KINDS = {
  'authorization-code': 'oauth_authorization_code',
  'client-credentials': 'oauth_client_credentials',
  'token-exchange': 'oauth_token_exchange',
} as const;
const KINDS: Readonly<Record<string, CredentialKind>> = { static: 'static', ...LOGIN_KINDS };

export const DRAFT_FLAGS: Flags = {
  account: { type: 'string', value: 'LABEL', help: 'what people call the account that acts, such as ada@example.com' },
  host: {
    type: 'string',
    value: 'HOST',
    multiple: true,
    help: 'where it may be shown, and nowhere else; a name or *.suffix',
  },
  path: { type: 'string', value: '/PATH', multiple: true, help: 'only below this path of its hosts' },
  header: { type: 'string', value: 'NAME', help: 'the header that it stands in (authorization)' },
  template: { type: 'string', value: 'TEXT', help: 'what stands there, with {secret} in it ("Bearer {secret}")' },
  basic: { type: 'string', value: 'USER', help: 'user and secret as basic authentication instead' },
  kind: { type: 'string', value: 'KIND', help: `${Object.keys(KINDS).join(', ')} (static)` },
  issuer: { type: 'string', value: 'URL', help: 'the authorisation server, for every other kind than static' },
  'client-id': { type: 'string', value: 'ID', help: 'as whom the fabric is known there' },
  scope: { type: 'string', value: 'SCOPE', multiple: true, help: 'what is asked for there' },
  resource: { type: 'string', value: 'URL', help: 'for whom its tokens are' },
  subject: { type: 'string', value: 'HANDLE', help: 'whose token token-exchange exchanges; it needs no secret then' },
  'test-address': { type: 'string', value: 'URL', help: 'what `credentials test` asks, within its hosts' },
  days: { type: 'string', value: 'N', help: 'days until it is not used any more; without it, never' },
};

const kindOf = (args: Arguments): CredentialKind => {
  const text = args.text('kind') ?? 'static';
  const kind = KINDS[text] ?? CredentialKind.safeParse(text).data;
  if (kind === undefined) throw new UsageError(`--kind ${text}: one of ${Object.keys(KINDS).join(', ')}`);
  return kind;
};

const injectOf = (args: Arguments): CredentialInjection => {
  const [user, header, template] = [args.text('basic'), args.text('header'), args.text('template')];
  if (user === undefined)
    return {
      type: 'header',
      header: (header ?? 'authorization').toLowerCase(),
      template: template ?? (header === undefined ? 'Bearer {secret}' : '{secret}'),
    };
  if (header !== undefined || template !== undefined)
    throw new UsageError('give either --basic, or --header and --template');
  return { type: 'basic', user };
};

const oauthOf = (args: Arguments, kind: CredentialKind) => {
  const [issuer, clientId, resource] = [args.text('issuer'), args.text('client-id'), args.text('resource')];
  const subject = args.text('subject');
  if (subject !== undefined && kind !== 'oauth_token_exchange')
    throw new UsageError('--subject is for token-exchange: give --kind');
  const scopes = args.list('scope');
  if (kind === 'static') {
    if (issuer !== undefined || clientId !== undefined || resource !== undefined || scopes.length > 0)
      throw new UsageError('--issuer, --client-id, --scope and --resource are for the other kinds: give --kind');
    return {};
  }
  const aim = { ...(resource === undefined ? {} : { resource }), ...(subject === undefined ? {} : { subject }) };
  return { oauth: { issuer, clientId, scopes, ...aim } };
};

/** How people are told of a field: by the flag that it comes from. */
const FLAG_OF: Readonly<Record<string, string>> = {
  account: '--account',
  'audience.hosts': '--host',
  'audience.paths': '--path',
  'inject.header': '--header',
  'inject.template': '--template',
  'inject.user': '--basic',
  'oauth.issuer': '--issuer',
  'oauth.clientId': '--client-id',
  'oauth.scopes': '--scope',
  'oauth.resource': '--resource',
  'oauth.subject': '--subject',
  testAddress: '--test-address',
  handle: 'the handle',
};

const flagOf = (path: readonly PropertyKey[]): string =>
  FLAG_OF[path.slice(0, 2).join('.')] ?? FLAG_OF[String(path[0])] ?? path.join('.');

/** Everything of a new credential but its secret, as the command line says it. Throws `UsageError`. */
export const draftOf = (args: Arguments, now: number): Omit<CredentialDraft, 'sealed'> => {
  const kind = kindOf(args);
  const [paths, testAddress, days] = [args.list('path'), args.text('test-address'), args.integer('days', 1, 3650)];
  const read = CredentialDraft.omit({ sealed: true }).safeParse(
    {
      handle: args.positionals[0],
      account: args.text('account'),
      audience: { hosts: args.list('host'), ...(paths.length === 0 ? {} : { paths }) },
      inject: injectOf(args),
      kind,
      ...oauthOf(args, kind),
      ...(testAddress === undefined ? {} : { testAddress }),
      ...(days === undefined ? {} : { expiresAt: now + days * DAY_MS }),
    },
    { reportInput: true },
  );
  if (read.success) return read.data;
  const said = read.error.issues.map(({ path, message, input }) => {
    const isMissing = input === undefined || (Array.isArray(input) && input.length === 0);
    return `${flagOf(path)}: ${isMissing ? 'must be given' : message}`;
  });
  throw new UsageError(said.join('; '));
};
