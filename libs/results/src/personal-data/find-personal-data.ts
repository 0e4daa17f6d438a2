import { findCards, findIbans, isCardNumber } from './find-accounts.ts';
import { findAddresses } from './find-addresses.ts';
import { findEmails } from './find-emails.ts';
import { findNationalIds } from './find-national-ids.ts';
import { findPhones } from './find-phones.ts';
import { asBytes, type Finder, type Found, type PersonalDataType } from './found.ts';

/** The surer comes first: where two overlap, it names both. */
const FINDERS: readonly Finder[] = [findEmails, findIbans, findCards, findNationalIds, findAddresses, findPhones];

const HAS_DIGITS = /\d/;

/** Places in a text with one character a byte, in order; none overlaps another. */
export const findInBytes = (text: string): Found[] => {
  const found: Found[] = [];
  if (text.includes('@')) findEmails(text, found);
  if (HAS_DIGITS.test(text)) for (const find of FINDERS.slice(1)) find(text, found);
  const apart: Found[] = [];
  for (const each of found)
    if (!apart.some((other) => each.start < other.end && other.start < each.end)) apart.push(each);
  return apart.sort((a, b) => a.start - b.start);
};

export interface PersonalData {
  readonly type: PersonalDataType;
  readonly text: string;
}

/** What stands in a text, with what it looks like. */
export const findPersonalData = (text: string): PersonalData[] => {
  const bytes = asBytes(text);
  return findInBytes(bytes).map(({ start, end, type }) => ({
    type,
    text: Buffer.from(bytes.slice(start, end), 'latin1').toString('utf8'),
  }));
};

export interface PersonalField {
  /** JSON pointer; that of the object where the name of a field holds it. */
  readonly pointer: string;
  readonly types: readonly PersonalDataType[];
}

const MOST_FIELDS = 50;
const MOST_DEPTH = 64;

const typesIn = (value: unknown): PersonalDataType[] => {
  if (typeof value === 'number') return Number.isSafeInteger(value) && isCardNumber(value) ? ['card'] : [];
  return typeof value === 'string' ? [...new Set(findPersonalData(value).map(({ type }) => type))] : [];
};

/** Where personal data stands in a value of JSON: in texts, in names of fields, and in numbers of cards. */
export const personalFields = (value: unknown): PersonalField[] => {
  const fields: PersonalField[] = [];
  const add = (pointer: string, types: readonly PersonalDataType[]): void => {
    if (types.length > 0 && fields.length < MOST_FIELDS) fields.push({ pointer, types });
  };
  const walk = (inner: unknown, pointer: string, depth: number): void => {
    if (depth > MOST_DEPTH || fields.length >= MOST_FIELDS) return;
    if (typeof inner !== 'object' || inner === null) return add(pointer, typesIn(inner));
    for (const [name, item] of Object.entries(inner)) {
      const types = Array.isArray(inner) ? [] : typesIn(name);
      add(pointer, types);
      const told = types.length > 0 ? '*' : name.replaceAll('~', '~0').replaceAll('/', '~1');
      walk(item, `${pointer}/${told}`, depth + 1);
    }
  };
  walk(value, '', 0);
  return fields;
};
