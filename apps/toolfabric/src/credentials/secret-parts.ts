import type { Readable } from 'node:stream';
import type { CredentialKind, SecretParts } from '@toolfabric/contract';
import type { Arguments, Flags } from '../cli/arguments.ts';
import { UsageError } from '../cli/usage-error.ts';
import { readSecret } from './read-secret.ts';

export const SECRET_FLAGS: Flags = {
  'secret-file': { type: 'string', value: 'FILE', help: 'the secret; from standard input when left out' },
  'client-secret-file': { type: 'string', value: 'FILE', help: 'the secret of the client, where it has one as well' },
};

export interface SecretInput {
  readonly stdin: Readable & { readonly isTTY?: boolean };
  readonly signal: AbortSignal;
}

/** What the one secret of a kind is; the login of a person brings its own. */
const MAIN: Readonly<Record<CredentialKind, keyof SecretParts | undefined>> = {
  static: 'secret',
  oauth_client_credentials: 'clientSecret',
  oauth_token_exchange: 'subjectToken',
  oauth_authorization_code: undefined,
};

/** The secrets that a credential of this kind is given; undefined where it is given none. Throws `UsageError`. */
export const secretParts = async (
  kind: CredentialKind,
  args: Arguments,
  { stdin, signal }: SecretInput,
): Promise<SecretParts | undefined> => {
  const main = args.text('subject') === undefined ? MAIN[kind] : undefined;
  const [file, clientFile] = [args.text('secret-file'), args.text('client-secret-file')];
  if (clientFile !== undefined && (kind === 'static' || main === 'clientSecret'))
    throw new UsageError('--client-secret-file is for authorization-code and token-exchange; give --secret-file');
  if (file !== undefined && main === undefined)
    throw new UsageError('a login or another credential brings the secret: --secret-file has no place here');
  const parts: SecretParts = {
    ...(main === undefined ? {} : { [main]: await readSecret({ file, stdin, signal }) }),
    ...(clientFile === undefined ? {} : { clientSecret: await readSecret({ file: clientFile, stdin, signal }) }),
  };
  return Object.keys(parts).length === 0 ? undefined : parts;
};
