import { FabricError } from '@toolfabric/kernel';
import { findInBytes } from '../personal-data/find-personal-data.ts';
import type { Detector } from './span.ts';

/** Always looked for; a contract may name them, which changes nothing. */
const STANDARD = [
  'access_key',
  'api_key',
  'authorization',
  'cookie',
  'credential',
  'entropy',
  'jwt',
  'password',
  'private_key',
  'secret',
  'signature',
  'token',
] as const;

const AT = 64;
const EMAIL = /[A-Za-z0-9][\w.%+-]{0,63}@[A-Za-z0-9](?:[A-Za-z0-9-]{0,62}\.){1,8}[A-Za-z]{2,24}(?![\w.-]*@)/g;

const findEmails: Detector = (window, found) => {
  if (window.bytes.indexOf(AT) < 0) return;
  for (const match of window.text.matchAll(EMAIL))
    found.push({ start: match.index, end: match.index + match[0].length, kind: 'email' });
};

const CARD = /(?<![\dA-Za-z.-])(?:\d[ -]?){12,18}\d(?![\dA-Za-z-])/g;

/** ISO/IEC 7812: the check digit of a card number. */
const hasCheckDigit = (digits: string): boolean => {
  let sum = 0;
  for (let at = 0; at < digits.length; at += 1) {
    const digit = digits.charCodeAt(digits.length - 1 - at) - 48;
    const part = at % 2 === 1 ? 2 * digit : digit;
    sum += part > 9 ? part - 9 : part;
  }
  return sum % 10 === 0;
};

const findCards: Detector = ({ text }, found) => {
  for (const match of text.matchAll(CARD)) {
    const digits = match[0].replace(/\D/g, '');
    if (/^[2-6]/.test(digits) && new Set(digits).size > 1 && hasCheckDigit(digits))
      found.push({ start: match.index, end: match.index + match[0].length, kind: 'card' });
  }
};

const findPii: Detector = ({ text }, found) => {
  for (const { start, end } of findInBytes(text)) found.push({ start, end, kind: 'pii' });
};

/** What a contract that allows no personal data looks for. */
export const PERSONAL_DATA_RULE = 'personal_data';

/** Looked for where a contract asks for it. */
const OPTIONAL: Readonly<Record<string, Detector>> = {
  email: findEmails,
  card: findCards,
  [PERSONAL_DATA_RULE]: findPii,
};

/** Every name that `governance.redact` of a contract may hold, beside JSON pointers. */
export const REDACTION_RULES: readonly string[] = [...STANDARD, ...Object.keys(OPTIONAL)].sort();

/** Everything that is redacted in what a tool of this contract says. */
export const redactionRulesOf = ({
  redact,
  pii_allowed,
}: {
  redact: readonly string[];
  pii_allowed: boolean;
}): string[] => (pii_allowed ? [...redact] : [...new Set([...redact, PERSONAL_DATA_RULE])]);

/** RFC 6901; a part `*` stands for every field and every item. */
const POINTER = /^(?:\/(?:[^~/]|~[01])+)+$/;

export const isRedactionRule = (rule: string): boolean => POINTER.test(rule) || REDACTION_RULES.includes(rule);

export interface CompiledRules {
  readonly detectors: readonly Detector[];
  readonly pointers: readonly (readonly string[])[];
}

const partsOf = (pointer: string): string[] =>
  pointer
    .slice(1)
    .split('/')
    .map((part) => part.replaceAll('~1', '/').replaceAll('~0', '~'));

/** Throws `contract_invalid` at a rule that does not exist. */
export const compileRules = (rules: readonly string[]): CompiledRules => {
  const wrong = rules.find((rule) => !isRedactionRule(rule));
  if (wrong !== undefined)
    throw new FabricError(
      'contract_invalid',
      `governance.redact: there is no rule ${JSON.stringify(wrong)}; a rule is a JSON pointer or one of ${REDACTION_RULES.join(', ')}`,
    );
  return {
    detectors: [...new Set(rules)].flatMap((rule) => OPTIONAL[rule] ?? []),
    pointers: rules.filter((rule) => rule.startsWith('/')).map(partsOf),
  };
};
