import { createHmac, createSecretKey, type KeyObject } from 'node:crypto';

/** What a mark can call what stood there. A closed list: nothing can hide in the name of a forged mark. */
export const SECRET_KINDS = [
  'access-key',
  'api-key',
  'authorization',
  'card',
  'cookie',
  'credential',
  'depth',
  'email',
  'entropy',
  'field',
  'jwt',
  'known',
  'password',
  'pii',
  'private-key',
  'secret',
  'signature',
  'token',
] as const;
export type SecretKind = (typeof SECRET_KINDS)[number];

const MARK_SOURCE = `\\[redacted:(?:${SECRET_KINDS.join('|')}):[0-9a-f]{8}\\]`;
/** The start of a mark, for a fast look whether there can be one. */
export const MARK_START = '[redacted:';
export const markPattern = (): RegExp => new RegExp(MARK_SOURCE, 'g');
const ONLY_MARKS = new RegExp(`^(?:${MARK_SOURCE})+$`);
export const isMark = (text: string): boolean => text.startsWith(MARK_START) && ONLY_MARKS.test(text);

const MAX_REMEMBERED = 2048;
const MAX_REMEMBERED_LENGTH = 512;

const tenantKey = (secret: Uint8Array, tenant: string): KeyObject =>
  createSecretKey(createHmac('sha256', secret).update(`toolfabric/redaction/1\n${tenant}`).digest());

/** Makes marks of one tenant: the same value gives the same eight characters, whatever it was found as. */
export class Marker {
  readonly #secret: Uint8Array;
  readonly #tenant: string;
  /** Made at the first mark: most redactors of one call never make one. */
  #key: KeyObject | undefined;
  readonly #remembered = new Map<string, string>();

  constructor(secret: Uint8Array, tenant: string) {
    if (secret.length < 16) throw new TypeError('the secret of the marks has 16 bytes or more');
    this.#secret = secret;
    this.#tenant = tenant;
  }

  /** `value` has one character a byte. */
  mark(kind: SecretKind, value: string): string {
    return `[redacted:${kind}:${this.#hashOf(value)}]`;
  }

  #hashOf(value: string): string {
    const known = this.#remembered.get(value);
    if (known !== undefined) return known;
    this.#key ??= tenantKey(this.#secret, this.#tenant);
    const hash = createHmac('sha256', this.#key).update(value, 'latin1').digest('hex').slice(0, 8);
    if (value.length <= MAX_REMEMBERED_LENGTH) {
      if (this.#remembered.size >= MAX_REMEMBERED) this.#remembered.clear();
      // A slice would keep the whole window that it was cut from alive.
      this.#remembered.set(Buffer.from(value, 'latin1').toString('latin1'), hash);
    }
    return hash;
  }
}
