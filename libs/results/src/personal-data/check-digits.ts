/** Arithmetic of check digits. Every text holds digits only, unless it says otherwise. */
const digitsOf = (text: string): number[] => Array.from(text, (digit) => digit.charCodeAt(0) - 48);

export const weighted = (text: string, weights: readonly number[]): number =>
  digitsOf(text).reduce((sum, digit, at) => sum + digit * (weights[at] ?? 0), 0);

/** ISO/IEC 7812 (Luhn). */
export const isLuhn = (text: string): boolean => {
  const sum = digitsOf(text)
    .reverse()
    .reduce((total, digit, at) => total + (at % 2 === 0 ? digit : digit < 5 ? digit * 2 : digit * 2 - 9), 0);
  return sum % 10 === 0;
};

/** Of digits and capital letters, which stand for 10 to 35. */
export const mod97 = (text: string): number => {
  let rest = 0;
  for (const character of text) {
    const value = Number.parseInt(character, 36);
    rest = (value > 9 ? rest * 100 + value : rest * 10 + value) % 97;
  }
  return rest;
};

/** ISO/IEC 7064, MOD 11,10. */
export const isMod1110 = (text: string): boolean => {
  let product = 10;
  for (const digit of digitsOf(text.slice(0, -1))) {
    const sum = (digit + product) % 10 || 10;
    product = (sum * 2) % 11;
  }
  return (11 - product) % 10 === Number(text.at(-1));
};

const TURNS = [
  [0, 1, 2, 3, 4, 5, 6, 7, 8, 9],
  [1, 5, 7, 6, 2, 8, 3, 0, 9, 4],
  [5, 8, 0, 3, 7, 9, 6, 1, 4, 2],
  [8, 9, 1, 6, 0, 4, 3, 5, 2, 7],
  [9, 4, 5, 3, 1, 2, 6, 8, 7, 0],
  [4, 2, 8, 6, 5, 7, 3, 9, 0, 1],
  [2, 7, 9, 3, 8, 0, 6, 4, 1, 5],
  [7, 0, 4, 6, 9, 1, 3, 2, 5, 8],
] as const;

/** The group of the symmetries of a pentagon. */
const joined = (a: number, b: number): number =>
  a < 5 ? (b < 5 ? (a + b) % 5 : 5 + ((a + b) % 5)) : b < 5 ? 5 + ((a - b + 5) % 5) : (a - b + 5) % 5;

export const isVerhoeff = (text: string): boolean =>
  digitsOf(text)
    .reverse()
    .reduce((sum, digit, at) => joined(sum, TURNS[at % 8]?.[digit] ?? 0), 0) === 0;

/** A day of some year. */
export const isDay = (month: string, day: string): boolean => {
  const [m, d] = [Number(month), Number(day)];
  return m >= 1 && m <= 12 && d >= 1 && d <= (m === 2 ? 29 : [4, 6, 9, 11].includes(m) ? 30 : 31);
};
