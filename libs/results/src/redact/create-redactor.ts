import { isCardNumber } from '../personal-data/find-accounts.ts';
import { findSecrets, STANDARD_DETECTORS } from './find-secrets.ts';
import { compileKnownValues } from './known-values.ts';
import { Marker, type SecretKind } from './mark.ts';
import { BEGIN_HINT } from './private-keys.ts';
import { JsonRedactor } from './redact-json.ts';
import { createRedactingStream, type RedactingStream } from './redacting-stream.ts';
import { compileRules, PERSONAL_DATA_RULE } from './rules.ts';

/**
 * Puts `[redacted:<kind>:<8 hexadecimal digits>]` in the place of every secret. The digits are a keyed hash of the value:
 * equal secrets of one tenant get equal digits, those of two tenants do not. Redacting twice changes nothing.
 */
export interface Redactor {
  text(text: string): string;
  /** Strings at any depth, names included, and whole values under sensitive names and at the rules' pointers. */
  json<T>(value: T): T;
  stream(): RedactingStream;
  /** Marks that were made so far, streams included. */
  readonly count: number;
}

export interface RedactorOptions {
  /** Of the installation; 16 bytes or more. */
  readonly secret: Uint8Array;
  readonly tenant: string;
  /** `governance.redact` of the contract. */
  readonly rules?: readonly string[];
  /** Values that are known to be secret, such as those of an environment. Those under six bytes are not searched. */
  readonly known?: readonly string[];
}

/** A text that is shorter holds no secret that a pattern could find. */
const MIN_TEXT = 6;
/** Bytes that a stream reads at once. */
const ONE_WINDOW = 65_536;

/** Throws `contract_invalid` at a rule that does not exist. */
export const createRedactor = ({ secret, tenant, rules = [], known = [] }: RedactorOptions): Redactor => {
  const marker = new Marker(secret, tenant);
  const compiled = compileRules(rules);
  const knownValues = compileKnownValues(known);
  const detectors = [...(knownValues ? [knownValues] : []), ...STANDARD_DETECTORS, ...compiled.detectors];
  let count = 0;
  const onHits = (hits: number): void => {
    count += hits;
  };
  const stream = (): RedactingStream => createRedactingStream({ detectors, marker, onHits });

  /** Most texts are short and hold nothing: they need no stream to say so. */
  const isClean = (source: string, bytes: Buffer): boolean => {
    if (bytes.length > ONE_WINDOW || source.includes(BEGIN_HINT)) return false;
    const shown = bytes.length === source.length ? source : bytes.toString('latin1');
    return findSecrets({ bytes, text: shown, afterWrapped: false }, detectors).length === 0;
  };

  const text = (source: string): string => {
    if (source.length < MIN_TEXT) return source;
    const bytes = Buffer.from(source, 'utf8');
    if (isClean(source, bytes)) return source;
    const before = count;
    const redacting = stream();
    const parts = [redacting.push(bytes), redacting.end()];
    return count === before ? source : Buffer.concat(parts).toString('utf8');
  };
  const mark = (kind: SecretKind, value: string): string => {
    count += 1;
    return marker.mark(kind, Buffer.from(value, 'utf8').toString('latin1'));
  };
  const number = (value: number): string | undefined =>
    Number.isSafeInteger(value) && isCardNumber(value) ? mark('pii', String(value)) : undefined;
  const isPersonal = rules.includes(PERSONAL_DATA_RULE);
  const json = new JsonRedactor({ text, mark, pointers: compiled.pointers, ...(isPersonal ? { number } : {}) });

  return {
    text,
    // A value of JSON keeps its shape; only a field that a rule names may become a string.
    json: <T>(value: T): T => json.redact(value) as T,
    stream,
    get count() {
      return count;
    },
  };
};
