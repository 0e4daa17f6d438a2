import { isDay, isLuhn, isMod1110, isVerhoeff, weighted } from './check-digits.ts';
import { asBytes } from './found.ts';

export interface NationalId {
  readonly country: string;
  /** How it is written; matched between characters that are no letters and digits. */
  readonly form: string;
  /** Over the letters and digits alone. */
  readonly holds: (id: string) => boolean;
  /** Where the form alone says too little, a word that must stand before it. */
  readonly named?: string;
}

const ODD = 'BAKPLCQDREVOSFTGUHMINJWZYX';
/** Italy: a character in an odd place counts as its place in this row of letters. */
const italian = (id: string): boolean => {
  const sum = Array.from(id.slice(0, 15)).reduce((total, character, at) => {
    const plain = /\d/.test(character) ? Number(character) : character.charCodeAt(0) - 65;
    return total + (at % 2 === 1 ? plain : ODD.indexOf(String.fromCharCode(65 + plain)));
  }, 0);
  return String.fromCharCode(65 + (sum % 26)) === id[15];
};

const chinese = (id: string): boolean => {
  const year = Number(id.slice(6, 10));
  const sum = weighted(id.slice(0, 17), [7, 9, 10, 5, 8, 4, 2, 1, 6, 3, 7, 9, 10, 5, 8, 4, 2]);
  return (
    year >= 1900 &&
    year <= 2100 &&
    isDay(id.slice(10, 12), id.slice(12, 14)) &&
    '10X98765432'[sum % 11] === id[17]?.toUpperCase()
  );
};

/** Germany: of the first ten digits one stands two or three times, and the others once at most. */
const german = (id: string): boolean => {
  const counts = [...Map.groupBy(id.slice(0, 10), (digit) => digit).values()].map(({ length }) => length);
  const repeated = counts.filter((count) => count > 1);
  return !id.startsWith('0') && repeated.length === 1 && (repeated[0] ?? 0) <= 3 && isMod1110(id);
};

const french = (id: string): boolean => {
  const number = id.slice(0, 13).replace(/2A/, '19').replace(/2B/, '18');
  return 97 - Number(BigInt(number) % 97n) === Number(id.slice(13));
};

const SPANISH = 'TRWAGMYFPDXBNJZSQVHLCKE';
const spanish = (id: string): boolean =>
  SPANISH[Number(id.slice(0, 8).replace(/^[XYZ]/, (first) => String('XYZ'.indexOf(first)))) % 23] === id[8];

const brazilian = (id: string): boolean =>
  [9, 10].every((length) => {
    const weights = Array.from({ length }, (_, at) => length + 1 - at);
    return ((weighted(id.slice(0, length), weights) * 10) % 11) % 10 === Number(id[length]);
  }) && new Set(id).size > 1;

const norwegian = (id: string): boolean => {
  const first = (11 - (weighted(id.slice(0, 9), [3, 7, 6, 1, 8, 9, 4, 5, 2]) % 11)) % 11;
  const second = (11 - (weighted(id.slice(0, 10), [5, 4, 3, 2, 7, 6, 5, 4, 3, 2]) % 11)) % 11;
  return isDay(id.slice(2, 4), id.slice(0, 2)) && first === Number(id[9]) && second === Number(id[10]);
};

const belgian = (id: string): boolean =>
  ['', '2'].some((century) => 97 - (Number(century + id.slice(0, 9)) % 97) === Number(id.slice(9)));

const korean = (id: string): boolean =>
  isDay(id.slice(2, 4), id.slice(4, 6)) &&
  (11 - (weighted(id.slice(0, 12), [2, 3, 4, 5, 6, 7, 8, 9, 2, 3, 4, 5]) % 11)) % 10 === Number(id[12]);

const TAIWAN = 'ABCDEFGHJKLMNPQRSTUVXYWZIO';
const taiwanese = (id: string): boolean => {
  const place = TAIWAN.indexOf(id.charAt(0)) + 10;
  return weighted(String(place) + id.slice(1), [1, 9, 8, 7, 6, 5, 4, 3, 2, 1, 1]) % 10 === 0;
};

const singaporean = (id: string): boolean => {
  const sum = weighted(id.slice(1, 8), [2, 7, 6, 5, 4, 3, 2]) + (/[TG]/.test(id) ? 4 : 0);
  return (/^[ST]/.test(id) ? 'JZIHGFEDCBA' : 'XWUTRQPNMLK')[sum % 11] === id[8];
};

const MEXICAN = '0123456789ABCDEFGHIJKLMN&OPQRSTUVWXYZ';
const mexican = (id: string): boolean => {
  const sum = Array.from(id.slice(0, 17)).reduce((total, c, at) => total + MEXICAN.indexOf(c) * (18 - at), 0);
  return isDay(id.slice(6, 8), id.slice(8, 10)) && (10 - (sum % 10)) % 10 === Number(id[17]);
};

const polish = (id: string): boolean =>
  isDay(String(Number(id.slice(2, 4)) % 20), id.slice(4, 6)) &&
  (10 - (weighted(id.slice(0, 10), [1, 3, 7, 9, 1, 3, 7, 9, 1, 3]) % 10)) % 10 === Number(id[10]);

const dutch = (id: string): boolean => (weighted(id, [9, 8, 7, 6, 5, 4, 3, 2]) - Number(id[8])) % 11 === 0;

const swedish = (id: string): boolean => isDay(id.slice(-8, -6), id.slice(-6, -4)) && isLuhn(id.slice(-10));

const finnish = (id: string): boolean =>
  isDay(id.slice(2, 4), id.slice(0, 2)) &&
  '0123456789ABCDEFHJKLMNPRSTUVWXY'[Number(id.slice(0, 6) + id.slice(-4, -1)) % 31] === id.at(-1);

const american = (id: string): boolean =>
  !/^(?:000|666|9)|^...00|0000$|^(?:123456789|078051120)$/.test(id) && new Set(id).size > 1;

const britishHealth = (id: string): boolean =>
  (11 - (weighted(id.slice(0, 9), [10, 9, 8, 7, 6, 5, 4, 3, 2]) % 11)) % 11 === Number(id[9]);

const japanese = (id: string): boolean => {
  const rest = weighted(id.slice(0, 11), [6, 5, 4, 3, 2, 7, 6, 5, 4, 3, 2]) % 11;
  return (rest <= 1 ? 0 : 11 - rest) === Number(id[11]);
};

const swiss = (id: string): boolean =>
  (10 - (weighted(id.slice(0, 12), [1, 3, 1, 3, 1, 3, 1, 3, 1, 3, 1, 3]) % 10)) % 10 === Number(id[12]);

const always = (): boolean => true;

/** Numbers that a state gives to a person. With a check digit, or with a form or a word that nothing else has. */
export const NATIONAL_IDS: readonly NationalId[] = [
  { country: 'cn', form: '[1-8]\\d{16}[\\dXx]', holds: chinese },
  { country: 'de', form: '\\d{11}|\\d{2} \\d{3} \\d{3} \\d{3}', holds: german },
  {
    country: 'fr',
    form: '[12] ?\\d\\d ?(?:0[1-9]|1[0-2]|[2-9]\\d) ?(?:\\d\\d|2[AB]) ?\\d{3} ?\\d{3} ?\\d\\d',
    holds: french,
  },
  { country: 'es', form: '(?:\\d{8}|[XYZ]\\d{7})-?[A-HJ-NP-TV-Z]', holds: spanish },
  { country: 'it', form: '[A-Z]{6}\\d{2}[A-EHLMPR-T]\\d{2}[A-Z]\\d{3}[A-Z]', holds: italian },
  {
    country: 'gb',
    form: '(?!BG|GB|KN|NK|NT|TN|ZZ)[A-CEGHJ-PR-TW-Z][A-CEGHJ-NPR-TW-Z] ?\\d\\d ?\\d\\d ?\\d\\d ?[A-D]',
    holds: always,
  },
  { country: 'gb', form: '\\d{3}[ -]?\\d{3}[ -]?\\d{4}', holds: britishHealth, named: 'nhs' },
  { country: 'us', form: '\\d{3}-\\d{2}-\\d{4}', holds: american },
  { country: 'us', form: '\\d{9}|\\d{3} \\d{2} \\d{4}', holds: american, named: 'ssn|ss#|social security' },
  { country: 'ca', form: '\\d{3}[ -]?\\d{3}[ -]?\\d{3}', holds: isLuhn, named: 'sin|social insurance|nas' },
  { country: 'br', form: '\\d{3}\\.\\d{3}\\.\\d{3}-\\d\\d', holds: brazilian },
  { country: 'br', form: '\\d{11}', holds: brazilian, named: 'cpf' },
  { country: 'mx', form: '[A-Z]{4}\\d{6}[HMX][A-Z]{5}[A-Z0-9]\\d', holds: mexican },
  { country: 'pl', form: '\\d{11}', holds: polish, named: 'pesel' },
  { country: 'nl', form: '\\d{9}|\\d{3}\\.\\d{3}\\.\\d{3}', holds: dutch, named: 'bsn|burgerservicenummer|sofi' },
  { country: 'be', form: '\\d\\d\\.\\d\\d\\.\\d\\d-\\d{3}\\.\\d\\d', holds: belgian },
  { country: 'ch', form: '756\\.\\d{4}\\.\\d{4}\\.\\d\\d', holds: swiss },
  { country: 'se', form: '(?:19|20)?\\d{6}[-+]\\d{4}', holds: swedish },
  { country: 'no', form: '\\d{6} ?\\d{5}', holds: norwegian },
  { country: 'fi', form: '\\d{6}[-+A]\\d{3}[0-9A-FHJ-NPR-Y]', holds: finnish },
  { country: 'kr', form: '\\d{6}-[1-8]\\d{6}', holds: korean },
  { country: 'jp', form: '\\d{4} ?\\d{4} ?\\d{4}', holds: japanese, named: 'マイナンバー|個人番号|my number' },
  { country: 'tw', form: '[A-Z][12]\\d{8}', holds: taiwanese },
  { country: 'sg', form: '[STFG]\\d{7}[A-Z]', holds: singaporean },
  { country: 'in', form: '[2-9]\\d{3} \\d{4} \\d{4}', holds: isVerhoeff },
  { country: 'in', form: '[2-9]\\d{11}', holds: isVerhoeff, named: 'aadhaar|आधार|uid' },
  { country: 'in', form: '[A-Z]{3}P[A-Z]\\d{4}[A-Z]', holds: always },
].map((id) => ('named' in id ? { ...id, named: asBytes(id.named) } : id));

/** Countries whose numbers of persons are known, as two small letters. */
export const ID_COUNTRIES: readonly string[] = [...new Set(NATIONAL_IDS.map(({ country }) => country))].sort();
