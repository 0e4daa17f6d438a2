import type { EgressRefusal, ErrorType } from '@toolfabric/contract';
import { FabricError } from '@toolfabric/kernel';

/**
 * Why there is no token: `unavailable` passes by itself, `refused` needs another record or another right, `login` needs
 * the owner of the credential.
 */
export type NoTokenReason = 'unavailable' | 'refused' | 'login';

const TYPES = {
  unavailable: 'unavailable',
  refused: 'credential_refused',
  login: 'login_required',
} as const satisfies Record<NoTokenReason, ErrorType>;

/** There is no token. Its text holds nothing that the other side wrote but the code of an error. */
export class NoToken extends FabricError {
  readonly why: NoTokenReason;

  constructor(why: NoTokenReason, text: string) {
    super(TYPES[why], text);
    this.why = why;
  }
}

const CODE = /^[a-z_]{1,40}$/;

/** The error code of an answer, when it is one: what the other side describes is never repeated. */
export const codeOf = (text: unknown): string => (typeof text === 'string' && CODE.test(text) ? text : 'no known code');

/** A reason of the way out that does not pass by itself. */
const LASTING: readonly EgressRefusal[] = [
  'address_not_permitted',
  'scheme_not_permitted',
  'target_malformed',
  'path_malformed',
  'tls_certificate',
];

export const unreachable = (reason: EgressRefusal): NoToken =>
  new NoToken(
    LASTING.includes(reason) ? 'refused' : 'unavailable',
    `the authorisation server cannot be asked: ${reason}`,
  );
