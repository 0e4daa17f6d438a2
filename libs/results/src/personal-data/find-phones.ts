import { asBytes, type Finder, isNamedBefore } from './found.ts';

/** Calling codes of countries. */
const COUNTRY =
  '(?:1|7|2[07]|3[0-469]|4[013-9]|5[1-8]|6[0-6]|8[1246]|9[0-58]|(?:2[1-6]|29|35|37|38|42|50|59|67|68|69|80|85|87|88|96|97|99)\\d)';
const GAP = '[ .\\x2f-]?';
/** `+49 (0)151 2345 6789` */
const INTERNATIONAL = new RegExp(
  `(?<![\\w+.\\x2f-])(?:\\+|00)(${COUNTRY})(?:${GAP}\\(0\\))?((?:${GAP}\\(?\\d{1,6}\\)?){1,6})(?![\\w]|[.,:-]\\d)`,
  'g',
);
/** Forms that only numbers of telephones have: of North America, France, the United Kingdom, China. */
const NATIONAL =
  /(?<![\w+.:\x2f=-]|\d )(?:\([2-9]\d\d\) ?[2-9]\d\d-\d{4}|[2-9]\d\d-[2-9]\d\d-\d{4}|[2-9]\d\d\.[2-9]\d\d\.\d{4}|0[1-9](?:([ .-])\d\d)(?:\1\d\d){3}|07\d{3} \d{6}|07\d{3} \d{3} \d{3}|02\d \d{4} \d{4}|1[3-9]\d{9}|1[3-9]\d([ -])\d{4}\2\d{4}|0\d{2,3}-\d{7,8})(?![\w-]|[.,:]\d| \d)/g;
/** Anything with as many digits behind a word that says what it is. */
const NAMED =
  /(?<![\w+.-])\(?\d{2,5}\)?(?:[ .\x2f-]{1,3}\d{2,8}){1,5}(?![\w]|[.,:]\d)|(?<![\w+.-])\d{7,13}(?![\w]|[.,:-]\d)/g;
const WORDS = new RegExp(
  `(?:${[
    'tel\\.?|telephone|phone|mobile|cell(?:phone)?|(?:call|reach|ring|text)(?: (?:me|him|her|us|them))? ?(?:at|on)?|ruf an|anrufen unter|whatsapp|fax|handy(?:nummer)?|telefon(?:nummer|o|e)?|mobil(?:nummer)?|rufnummer|m(?:o|ó)vil|t(?:e|é)l(?:e|é)phone|tel(?:e|é)fono|portable|celular|cellulare|telefoon|mobiel|puh(?:elin)?\\.?|komórk[ai]|numer telefonu',
    '电话|手机|联系方式|電話|携帯|전화|тел(?:ефон)?|हाथ|फ़ोन|هاتف',
  ]
    .map(asBytes)
    .join('|')})(?: ?(?:no\\.?|nr\\.?|number|num|is|:|=|#|"|\\x27|-|\\(|\\)|\\xef\\xbc\\x9a| )){0,6}$`,
  'i',
);

const digitsIn = (text: string): number => text.replace(/\D/g, '').length;

const findInternational: Finder = (text, found) => {
  for (const match of text.matchAll(INTERNATIONAL)) {
    const [whole, country = '', rest = ''] = match;
    const digits = digitsIn(country) + digitsIn(rest);
    if (digits < 8 || digits > 15) continue;
    const isPlain = /^(?:\+|00)\d+$/.test(whole);
    const isZeros = whole.startsWith('00');
    const beginsLine = match.index === 0 || text[match.index - 1] === '\n';
    // `+1234567890` at the beginning of a line may be one that was added; `00…` may be any number.
    if (isPlain && (isZeros || (beginsLine && text.includes('\n')))) continue;
    if (isZeros && digits < 10) continue;
    if (/^(?:\+|00)\d+[.]\d+$/.test(whole)) continue;
    found.push({ start: match.index, end: match.index + whole.length, type: 'phone' });
  }
};

export const findPhones: Finder = (text, found) => {
  findInternational(text, found);
  for (const match of text.matchAll(NATIONAL))
    found.push({ start: match.index, end: match.index + match[0].length, type: 'phone' });
  for (const match of text.matchAll(NAMED)) {
    const digits = digitsIn(match[0]);
    const isDate = /^\d{4}-\d{2}-\d{2}$|^\d{2}[./]\d{2}[./]\d{4}$/.test(match[0]);
    if (digits >= 7 && digits <= 13 && !isDate && isNamedBefore(text, match.index, WORDS))
      found.push({ start: match.index, end: match.index + match[0].length, type: 'phone' });
  }
};
