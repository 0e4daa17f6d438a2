/** Percent off, by code. */
const CODES = new Map([
  ['WELCOME', 10],
  ['SUMMER', 15],
]);

/** The cents that a code takes off a sum; nothing for a code that nobody knows. */
export function discountFor(code, cents) {
  const percent = CODES.get(code) ?? 0;
  return Math.floor((cents * percent) / 100);
}
