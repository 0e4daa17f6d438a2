import { isLuhn, mod97 } from './check-digits.ts';
import type { Finder, Found } from './found.ts';

/** Characters of an IBAN, by country. */
const IBAN_LENGTHS: Readonly<Record<string, number>> = Object.fromEntries(
  (
    'AD24 AE23 AL28 AT20 AZ28 BA20 BE16 BG22 BH22 BR29 BY28 CH21 CR22 CY28 CZ24 DE22 DK18 DO28 EE20 EG29 ES24 FI18 FO18 FR27 ' +
    'GB22 GE22 GI23 GL18 GR27 GT28 HR21 HU28 IE22 IL23 IQ23 IS26 IT27 JO30 KW30 KZ20 LB28 LC32 LI21 LT20 LU20 LV21 LY25 MC27 ' +
    'MD24 ME22 MK19 MR27 MT31 MU30 NL18 NO15 PK24 PL28 PS29 PT25 QA29 RO24 RS22 SA24 SC31 SE24 SI19 SK24 SM27 ST25 SV28 TL23 ' +
    'TN24 TR26 UA29 VA22 VG24 XK20'
  )
    .split(' ')
    .map((entry) => [entry.slice(0, 2), Number(entry.slice(2))]),
);

const IBAN = /(?<![A-Za-z0-9])([A-Z]{2})\d{2}(?:[ -]?[A-Z0-9]){11,30}/g;

/** How much of `text` its first `count` letters and digits take. */
const endAfter = (text: string, count: number): number => {
  let seen = 0;
  for (let at = 0; at < text.length; at += 1) {
    if (text[at] !== ' ' && text[at] !== '-') seen += 1;
    if (seen === count) return at + 1;
  }
  return -1;
};

export const findIbans: Finder = (text, found) => {
  for (const match of text.matchAll(IBAN)) {
    const length = IBAN_LENGTHS[match[1] ?? ''];
    const end = length === undefined ? -1 : endAfter(match[0], length);
    if (end < 0 || /[A-Za-z0-9]/.test(text.charAt(match.index + end))) continue;
    const iban = match[0].slice(0, end).replace(/[ -]/g, '');
    if (mod97(iban.slice(4) + iban.slice(0, 4)) === 1)
      found.push({ start: match.index, end: match.index + end, type: 'iban' });
  }
};

const CARD =
  /(?<![\w.+-]|\d )(?:\d{4}([ .-]?)\d{4}\1\d{4}\1\d{1,7}|\d{4}([ -]?)\d{6}\2\d{4,5}|\d{13,19})(?![\w-]|\.\d)/g;
/** Issuers with the lengths of their numbers. */
const ISSUERS =
  /^(?:4(?:\d{12}|\d{15}|\d{18})|5[1-5]\d{14}|2(?:22[1-9]|2[3-9]\d|[3-6]\d\d|7[01]\d|720)\d{12}|3[47]\d{13}|3(?:0[0-5]|[68]\d)\d{11}|35(?:2[89]|[3-8]\d)\d{12}|6(?:011|5\d\d|4[4-9]\d)\d{12}|62\d{14,17}|(?:50|5[6-8])\d{14,17})$/;

export const findCards: Finder = (text, found) => {
  for (const match of text.matchAll(CARD)) {
    const digits = match[0].replace(/\D/g, '');
    if (ISSUERS.test(digits) && new Set(digits).size > 2 && isLuhn(digits))
      found.push({ start: match.index, end: match.index + match[0].length, type: 'card' });
  }
};

/** A number of its own that is one of a card. */
export const isCardNumber = (value: number): boolean => {
  const found: Found[] = [];
  findCards(String(value), found);
  return found.length > 0;
};
