/**
 * Makes numbers with the check digits that their authorities ask for, by trying: independent of the detector, from the
 * published definitions of the checks.
 */
const digits = '0123456789';
const letters = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ';

const complete = (parts: (last: string) => string, endings: string, holds: (id: string) => boolean): string => {
  for (const ending of endings) if (holds(parts(ending))) return parts(ending);
  throw new RangeError('no check digit fits');
};

const sumOf = (id: string, weights: readonly number[]): number =>
  weights.reduce((sum, weight, at) => sum + weight * Number(id[at]), 0);

const luhnSum = (id: string): number =>
  [...id].reduce((sum, digit, at) => {
    const doubled = (id.length - at) % 2 === 0 ? Number(digit) * 2 : Number(digit);
    return sum + Math.floor(doubled / 10) + (doubled % 10);
  }, 0);

export const luhn = (body: string): string =>
  complete(
    (d) => body + d,
    digits,
    (id) => luhnSum(id) % 10 === 0,
  );

/** ISO 13616: the number as one long integer leaves 1 when it is divided by 97. */
export const iban = (country: string, body: string): string => {
  const asNumber = (text: string) =>
    BigInt([...text].map((c) => (letters.includes(c) ? String(letters.indexOf(c) + 10) : c)).join(''));
  const check = 98n - (asNumber(`${body}${country}00`) % 97n);
  return `${country}${String(check).padStart(2, '0')}${body}`;
};

export const chinese = (body: string): string =>
  complete(
    (d) => body + d,
    `${digits}X`,
    (id) =>
      (sumOf(id, [7, 9, 10, 5, 8, 4, 2, 1, 6, 3, 7, 9, 10, 5, 8, 4, 2]) + (id[17] === 'X' ? 10 : Number(id[17]))) %
        11 ===
      1,
  );

/** Germany: ISO 7064, MOD 11,10, as the tax authority writes it down. */
export const german = (body: string): string =>
  complete(
    (d) => body + d,
    digits,
    (id) => {
      let carry = 10;
      for (const digit of id.slice(0, 10)) {
        carry = (carry + Number(digit)) % 10;
        carry = carry === 0 ? 10 : carry;
        carry = (carry * 2) % 11;
      }
      return (carry + Number(id[10])) % 10 === 1;
    },
  );

export const french = (body: string): string => `${body}${String(97 - (Number(body) % 97)).padStart(2, '0')}`;

export const spanish = (body: string): string => `${body}${'TRWAGMYFPDXBNJZSQVHLCKE'.charAt(Number(body) % 23)}`;

export const brazilian = (body: string): string => {
  const next = (id: string): string => {
    const rest = [...id].reduce((sum, digit, at) => sum + Number(digit) * (id.length + 1 - at), 0) % 11;
    return id + String(rest < 2 ? 0 : 11 - rest);
  };
  const id = next(next(body));
  return `${id.slice(0, 3)}.${id.slice(3, 6)}.${id.slice(6, 9)}-${id.slice(9)}`;
};

export const norwegian = (body: string): string => {
  for (const pair of Array.from({ length: 100 }, (_, n) => String(n).padStart(2, '0'))) {
    const id = body + pair;
    const first = sumOf(id, [3, 7, 6, 1, 8, 9, 4, 5, 2, 1]) % 11 === 0;
    if (first && sumOf(id, [5, 4, 3, 2, 7, 6, 5, 4, 3, 2, 1]) % 11 === 0) return id;
  }
  throw new RangeError('no check digits fit');
};

export const polish = (body: string): string =>
  complete(
    (d) => body + d,
    digits,
    (id) => sumOf(id, [1, 3, 7, 9, 1, 3, 7, 9, 1, 3, 1]) % 10 === 0,
  );

export const dutch = (body: string): string =>
  complete(
    (d) => body + d,
    digits,
    (id) => sumOf(id, [9, 8, 7, 6, 5, 4, 3, 2, -1]) % 11 === 0,
  );

export const swedish = (date: string, number: string): string => `${date}-${luhn(date + number).slice(6)}`;

export const finnish = (date: string, number: string): string =>
  `${date}-${number}${'0123456789ABCDEFHJKLMNPRSTUVWXY'.charAt(Number(date + number) % 31)}`;

export const korean = (birth: string, rest: string): string =>
  complete(
    (d) => `${birth}-${rest}${d}`,
    digits,
    (id) => (11 - (sumOf(id.replace('-', ''), [2, 3, 4, 5, 6, 7, 8, 9, 2, 3, 4, 5]) % 11)) % 10 === Number(id.at(-1)),
  );

export const swiss = (body: string): string => {
  const sum = [...body].reduce((total, digit, at) => total + Number(digit) * (at % 2 === 0 ? 1 : 3), 0);
  const id = body + String((10 - (sum % 10)) % 10);
  return `${id.slice(0, 3)}.${id.slice(3, 7)}.${id.slice(7, 11)}.${id.slice(11)}`;
};

export const belgian = (body: string): string => {
  const id = body + String(97 - (Number(body) % 97)).padStart(2, '0');
  return `${id.slice(0, 2)}.${id.slice(2, 4)}.${id.slice(4, 6)}-${id.slice(6, 9)}.${id.slice(9)}`;
};

export const grouped = (text: string, size: number, gap = ' '): string =>
  (text.match(new RegExp(`.{1,${size}}`, 'g')) ?? []).join(gap);
