import { pointerTokens } from './json-pointer.ts';

const MAX_SHOWN = 40;
const SECRET_NAME =
  /pass(word|wd|phrase)?$|secret|token|api_?key|access_?key|private|credential|authorization|cookie|session/i;
/** A long run of letters and digits together: more likely a key than something that a model wrote. */
const SECRET_LOOK = /^(?=[^0-9]*[0-9])(?=[^A-Za-z]*[A-Za-z])[\w+/=.~-]{16,}$/;

export const looksSecret = (text: string): boolean => SECRET_LOOK.test(text);

export const cutText = (text: string, length: number): string =>
  text.length <= length ? text : `${text.slice(0, length - 1)}…`;

/** Whether a field holds something that is never shown: its schema says so, or its name does. */
export const isSecretField = (pointer: string, schema: unknown): boolean =>
  (typeof schema === 'object' && schema !== null && 'writeOnly' in schema && schema.writeOnly === true) ||
  pointerTokens(pointer).some((token) => SECRET_NAME.test(token));

const counted = (kind: string, count: number, unit: string): string =>
  `${kind} of ${count} ${unit}${count === 1 ? '' : 's'}`;

const describeString = (text: string, hidden: boolean): string => {
  const shown = !hidden && text.length <= MAX_SHOWN && !looksSecret(text);
  return shown ? `string ${JSON.stringify(text.replace(/\p{C}/gu, '?'))}` : counted('string', text.length, 'character');
};

/** What a value is, in a few words: its type, and the value itself only where it is a short scalar that is no secret. */
export const describeValue = (value: unknown, hidden = false): string => {
  if (value === null) return 'null';
  if (value === undefined) return 'nothing';
  if (Array.isArray(value)) return counted('array', value.length, 'item');
  if (typeof value === 'string') return describeString(value, hidden);
  if (typeof value === 'object') return counted('object', Object.keys(value).length, 'field');
  return hidden ? typeof value : `${typeof value} ${String(value).slice(0, MAX_SHOWN)}`;
};
