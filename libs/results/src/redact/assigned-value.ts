import { MARK_START, markPattern, type SecretKind } from './mark.ts';
import { MAX_WORDS, wordShare } from './random-text.ts';
import { secretKindOf } from './sensitive-name.ts';

/** How a value stands behind its name. */
export interface Assignment {
  readonly kind: SecretKind;
  readonly name: string;
  /** What stands between: `=`, `:`, `>`, or a blank after an option. */
  readonly operator: '=' | ':' | '>' | ' ';
  /** White space on a side of the operator. */
  readonly isSpaced: boolean;
  readonly quote: string;
  readonly value: string;
  /** The character behind an unquoted value; empty at the end. */
  readonly next: string;
  /** The name is the first word of its line. */
  readonly beginsLine: boolean;
}

const PLACEHOLDER =
  /^(?:[*x.#_-]+|<[^>]*>?|\[[^\]]*\]?|\$\{.*|\$\(.*|\$\w+|\{\{?.*|%(?:[A-Za-z]{1,2}|\w+%|\(\w+\)s)|redacted|hidden|null|undefined|none|nil|true|false|yes|no|on|off|required|optional|string|str|number|int|integer|boolean|bool|object|array|any|unknown|never|void|bytes|buffer|uint8array|text|varchar.*|char.*)$/i;
/** Names of types and what programs compute values with. */
const CODE =
  /[(){}[\]<>`]|^(?:process\.env|os\.|env[.:]|self\.|this\.|await |new |const |function|async |typeof )|^[A-Za-z_$][\w$]*(?:[.:]{1,2}[A-Za-z_$#][\w$]*)+[;,]?$|=>|\?\.|\|\||&&/;
/** A directory, or the name of a type of Kubernetes. */
const PATH = /^(?:~|\.{1,2})?\/[\w.-]+(?:\/|$)|^[a-z0-9-]+(?:\.[a-z0-9-]+)+\/[a-z-]+$/;
/** What every shell calls the directory that it is in. */
const WORKING_DIRECTORY = /^(?:OLD)?PWD$/;
const IDENTIFIER = /^[A-Za-z_$][\w$]*$/;
const STRONG: readonly SecretKind[] = ['password', 'secret'];

/** A mark, with nothing but line ends that a string holds beside it. */
const isOnlyMarks = (value: string): boolean =>
  value.includes(MARK_START) && value.replace(markPattern(), '').replace(/\\+[nrt]|[^A-Za-z0-9]/g, '') === '';

const isNothing = (value: string): boolean =>
  value === '' || PLACEHOLDER.test(value) || isOnlyMarks(value) || /^[^A-Za-z0-9\x80-\xff]*$/.test(value);

const VERSION = /^[~^<>=v]*\d+\.\d+(?:\.[\dx]+)?(?:-[\w.]+)?$|^0x[0-9a-f]{1,8}$/i;
/** What tokens, keys and signatures are written with. */
const TOKEN_CHARACTERS = /^[\w.~+/=:|%$@!-]+$/;

/** `AWS_SECRET_ACCESS_KEY` and `x-session-token` are names of secrets. */
const isNameOfSecret = (value: string): boolean =>
  /^[A-Za-z]+(?:[_-][A-Za-z0-9]+)+$/.test(value) && secretKindOf(value) !== undefined;

/** Words that are no token: short, or with blanks between, or names made of words. */
const isProse = (value: string): boolean =>
  /\s/.test(value) || VERSION.test(value) || (!/\d/.test(value) && (value.length < 20 || wordShare(value) > MAX_WORDS));

/** `OAuth2Client` */
const isNameOfCode = (value: string): boolean =>
  value.length < 32 && IDENTIFIER.test(value) && !/\d\D*\d\D*\d/.test(value) && wordShare(value) > MAX_WORDS;

const judgeQuoted = ({ kind, value }: Assignment): boolean => {
  if (value.length < (STRONG.includes(kind) ? 3 : 6)) return false;
  if (/^(?:process\.env|os\.environ)\b/.test(value) || isNameOfSecret(value)) return false;
  // A sentence about passwords is no password.
  if (STRONG.includes(kind)) return (value.match(/ /g)?.length ?? 0) < 3 || /\d/.test(value.slice(0, 24));
  return !isProse(value);
};

const judgeUnquoted = (assignment: Assignment): boolean => {
  const { kind, name, operator, isSpaced, value, next, beginsLine } = assignment;
  const isLoud = /^[A-Z0-9_]+$/.test(name);
  const isEnvironment = isLoud && operator === '=' && !isSpaced;
  if (value.length < (STRONG.includes(kind) ? 3 : 6)) return false;
  if (isEnvironment) return !/^[({[<`]/.test(value) && !(WORKING_DIRECTORY.test(name) && value.startsWith('/'));
  if (CODE.test(value) || PATH.test(value)) return false;
  if (operator === '>') return next === '<';
  if (operator === ' ') return !isProse(value) || (STRONG.includes(kind) && /[a-z]/.test(value) && next !== ' ');
  if (!STRONG.includes(kind) && (!TOKEN_CHARACTERS.test(value) || VERSION.test(value))) return false;
  const endsLine = next === '' || next === '\n' || next === '\r' || next === '&';
  if (IDENTIFIER.test(value) && !/\d/.test(value)) {
    // `password=letmein` of a URL or a file, not `password=value)` of a program.
    if (value === name) return false;
    if (!STRONG.includes(kind)) return value.length >= 20 && wordShare(value) < 0.4;
    if (operator === '=' && !isSpaced) return endsLine || next === ';' || next === ' ';
    if (operator === '=') return beginsLine && endsLine && value.length >= 8 && wordShare(value) <= MAX_WORDS;
    return operator === ':' && beginsLine && endsLine && /^[a-z]+$/.test(value);
  }
  if (isSpaced && !STRONG.includes(kind) && isNameOfCode(value)) return false;
  if (
    IDENTIFIER.test(value) &&
    value.length < 16 &&
    (next === ')' || next === ',' || (isSpaced && operator === '=' && !endsLine))
  )
    return false;
  return STRONG.includes(kind) || /\d/.test(value) || !isProse(value);
};

/** Whether what stands behind a sensitive name in a text is a secret, and not a type, a placeholder or a piece of code. */
export const isSecretValue = (assignment: Assignment): boolean =>
  !isNothing(assignment.value) && (assignment.quote === '' ? judgeUnquoted(assignment) : judgeQuoted(assignment));
