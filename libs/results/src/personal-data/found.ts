/** What personal data can be told apart by; a name alone is not among them. */
export const PERSONAL_DATA_TYPES = ['email', 'phone', 'iban', 'card', 'national_id', 'address'] as const;
export type PersonalDataType = (typeof PERSONAL_DATA_TYPES)[number];

export interface Found {
  readonly start: number;
  readonly end: number;
  readonly type: PersonalDataType;
}

/** Looks through a text with one character a byte of its UTF-8. A finding never crosses a newline. */
export type Finder = (text: string, found: Found[]) => void;

/** Words as they stand in such a text. */
export const asBytes = (text: string): string => Buffer.from(text, 'utf8').toString('latin1');

/** Whether one of the words stands in the few characters before a place. */
export const isNamedBefore = (text: string, start: number, words: RegExp): boolean =>
  words.test(text.slice(Math.max(0, text.lastIndexOf('\n', start - 1) + 1, start - 40), start));
