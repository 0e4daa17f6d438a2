import { isMark, type SecretKind } from './mark.ts';
import { secretKindOf } from './sensitive-name.ts';

export interface JsonRedaction {
  text(text: string): string;
  mark(kind: SecretKind, value: string): string;
  readonly pointers: readonly (readonly string[])[];
  /** A mark in the place of a number that is to be redacted. */
  number?(value: number): string | undefined;
}

/** Deeper values are blanked whole. */
const MAX_DEPTH = 64;
const NOTHING = /^(?:\s*|\*+|null|undefined|true|false)$/i;
const SCHEMA_TYPES = /^(?:string|number|integer|boolean|object|array|null)$/;

type Fields = Readonly<Record<string, unknown>>;

const isFields = (value: object): value is Fields => {
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === null || prototype === Object.prototype;
};

/** The schema of a field, as it stands under the field's name, holds no value of it. */
const isSchema = (value: unknown): boolean =>
  typeof value === 'object' &&
  value !== null &&
  'type' in value &&
  (typeof value.type === 'string' ? SCHEMA_TYPES.test(value.type) : Array.isArray(value.type));

/**
 * Redacts a value of JSON: every string and every name by the patterns of texts, everything under a sensitive name, and
 * what the pointers name. Objects, arrays, numbers, booleans and nulls stay what they are, but for a secret number.
 */
export class JsonRedactor {
  readonly #redaction: JsonRedaction;

  constructor(redaction: JsonRedaction) {
    this.#redaction = redaction;
  }

  redact(value: unknown): unknown {
    return this.#walk(value, this.#redaction.pointers, 0);
  }

  #walk(value: unknown, pointers: readonly (readonly string[])[], depth: number): unknown {
    if (typeof value === 'string') return this.#redaction.text(value);
    if (value instanceof Uint8Array) return this.#bytes(value);
    if (typeof value === 'number') return this.#redaction.number?.(value) ?? value;
    if (typeof value !== 'object' || value === null) return value;
    if (depth >= MAX_DEPTH) return this.#redaction.mark('depth', '');
    const below = (name: string) =>
      pointers.filter(([first]) => first === name || first === '*').map((pointer) => pointer.slice(1));
    if (Array.isArray(value))
      return Array.from(value, (item: unknown, index) => this.#child(item, below(String(index)), depth));
    if (!isFields(value)) return value;
    // `fromEntries` defines `__proto__` as a field like any other.
    return Object.fromEntries(
      Object.entries(value).map(([name, item]) => [
        this.#redaction.text(name),
        this.#field(name, item, below(name), depth),
      ]),
    );
  }

  #child(value: unknown, pointers: readonly (readonly string[])[], depth: number): unknown {
    const isNamed = pointers.some((pointer) => pointer.length === 0);
    return isNamed ? this.#whole(value) : this.#walk(value, pointers, depth + 1);
  }

  #field(name: string, value: unknown, pointers: readonly (readonly string[])[], depth: number): unknown {
    if (pointers.some((pointer) => pointer.length === 0)) return this.#whole(value);
    const kind = secretKindOf(name);
    if (kind === undefined || isSchema(value)) return this.#walk(value, pointers, depth + 1);
    return this.#blank(kind, value, depth + 1);
  }

  /** What a pointer names becomes one mark. */
  #whole(value: unknown): unknown {
    if (value === undefined || value === null || (typeof value === 'string' && isMark(value))) return value;
    return this.#redaction.mark('field', typeof value === 'string' ? value : (JSON.stringify(value) ?? ''));
  }

  /** Every value under a sensitive name; the shape stays. */
  #blank(kind: SecretKind, value: unknown, depth: number): unknown {
    if (typeof value === 'string')
      return NOTHING.test(value) || isMark(value) ? value : this.#redaction.mark(kind, value);
    // A number of tokens or cookies is a count.
    if (typeof value === 'number' || typeof value === 'bigint')
      return kind === 'password' || kind === 'secret' ? this.#redaction.mark(kind, String(value)) : value;
    if (value instanceof Uint8Array) return this.#redaction.mark(kind, Buffer.from(value).toString('utf8'));
    if (typeof value !== 'object' || value === null) return value;
    if (depth >= MAX_DEPTH) return this.#redaction.mark('depth', '');
    if (Array.isArray(value)) return Array.from(value, (item: unknown) => this.#blank(kind, item, depth + 1));
    if (!isFields(value)) return value;
    return Object.fromEntries(
      Object.entries(value).map(([name, item]) => [this.#redaction.text(name), this.#blank(kind, item, depth + 1)]),
    );
  }

  #bytes(value: Uint8Array): Uint8Array {
    const text = Buffer.from(value).toString('latin1');
    const redacted = this.#redaction.text(text);
    return redacted === text ? value : Uint8Array.from(Buffer.from(redacted, 'latin1'));
  }
}
