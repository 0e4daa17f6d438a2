const ALPHABETS: Readonly<Record<string, string>> = {
  b62: 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789',
  b64: 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/',
  url: 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_',
  b36: 'abcdefghijklmnopqrstuvwxyz0123456789',
  up: 'ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789',
  b32: 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567',
  hex: '0123456789abcdef',
  num: '123456789',
  any: 'abcdefghijkmnpqrstuvwxyzABCDEFGHJKLMNPQRSTUVWXYZ23456789!#%^*_+-',
};

/** Numbers in [0, 1) that follow from the seed (mulberry32). */
export const seededRandom = (seed: number): (() => number) => {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4294967296;
  };
};

const randomText = (alphabet: string, length: number, random: () => number): string => {
  const characters = ALPHABETS[alphabet];
  if (characters === undefined) throw new TypeError(`no alphabet ${alphabet}`);
  return Array.from({ length }, () => characters[Math.floor(random() * characters.length)]).join('');
};

const uuid = (random: () => number): string =>
  [8, 4, 4, 4, 12].map((length) => randomText('hex', length, random)).join('-');

export interface Filled {
  readonly text: string;
  /** What stood between `«` and `»`. */
  readonly secrets: readonly string[];
}

/**
 * Fills `{b62:20}` with 20 random characters of an alphabet, `{base64 words}` with the base64 of the words, `{uuid}` with a UUID, and takes
 * out the signs `«` and `»` that say which part is secret. No key of a real form stands in a source file that way.
 */
export const fillTemplate = (template: string, random: () => number): Filled => {
  const filled = template
    .replace(/\{(\w+):(\d+)\}/g, (_all, alphabet: string, length: string) =>
      randomText(alphabet, Number(length), random),
    )
    .replaceAll('{uuid}', () => uuid(random))
    .replace(/\{base64 ([^}]*)\}/g, (_all, words: string) => Buffer.from(words).toString('base64'));
  return {
    text: filled.replace(/[«»]/g, ''),
    secrets: [...filled.matchAll(/«([^»]*)»/g)].map((match) => match[1] ?? ''),
  };
};
