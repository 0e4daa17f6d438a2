const MIN_LENGTH = 30;
const MAX_LENGTH = 160;
/** Share of words over which a text is a name. */
export const MAX_WORDS = 0.55;
/** The first characters of base64 of images, fonts, archives, documents, JSON, public keys and plain markup. */
const KNOWN_FORMAT =
  /^(?:iVBORw0KGgo|R0lGOD|\/9j\/|UklGR|AAABAA|d09G|H4sI|UEsDB|JVBERi0|PHN2Z|PD94bW|PCFET|eyJ|e30|W3s|AAAAB3NzaC1|AAAAC3NzaC1|AAAAE2Vj|AAAAG|MII[A-Z]|MF[kw]w|MCowBQ|AGFzbQ|Qk[0-9A-Za-z]|TVqQ)/;
/** Names that compilers make of longer names. */
const MANGLED = /^_{1,3}[ZRT]\w*$|^\$s|^_{0,2}[A-Z]{0,3}\d+[A-Z][a-z]{3}/;

interface Shape {
  readonly upper: number;
  readonly lower: number;
  readonly digit: number;
  /** Places where two neighbours are of different classes. */
  readonly changes: number;
  /** Characters in runs of four or more small letters: words. */
  readonly inWords: number;
}

const classOf = (code: number): 0 | 1 | 2 | 3 =>
  code >= 97 && code <= 122 ? 1 : code >= 65 && code <= 90 ? 0 : code >= 48 && code <= 57 ? 2 : 3;

const shapeOf = (text: string): Shape => {
  const counts = [0, 0, 0, 0];
  let changes = 0;
  let inWords = 0;
  let small = 0;
  let previous = -1;
  for (let at = 0; at <= text.length; at += 1) {
    const type = at < text.length ? classOf(text.charCodeAt(at)) : -1;
    if (type >= 0) counts[type] = (counts[type] ?? 0) + 1;
    if (type !== previous && at > 0 && at < text.length) changes += 1;
    if (type === 1) small += 1;
    else {
      if (small >= 4) inWords += small;
      small = 0;
    }
    previous = type;
  }
  const [upper = 0, lower = 0, digit = 0] = counts;
  return { upper, lower, digit, changes, inWords };
};

/** Nobody can say it: no vowel, or four other letters in a row. */
const UNSPEAKABLE = /^[^aeiouy]*$|[^aeiouy]{4}/i;

/** The share of a text that is words: `Template`, `beta`, `Set`. A sixth of random text is, by chance. */
export const wordShare = (text: string): number => {
  let inWords = 0;
  for (const [word] of text.matchAll(/[A-Z][a-z]{2,}|[a-z]{3,}/g)) if (!UNSPEAKABLE.test(word)) inWords += word.length;
  return text.length === 0 ? 0 : inWords / text.length;
};

/** Names and paths are joined of parts; so many joints are rare in random base64. */
const isJoined = (text: string): boolean =>
  text.split('_').length > 3 || text.split('-').length > 3 || text.split('/').length > 4 + text.length / 40;

/** Bits a character (Shannon) of the text's own distribution. */
const entropyOf = (text: string): number => {
  const counts = new Uint8Array(128);
  for (let at = 0; at < text.length; at += 1) {
    const code = text.charCodeAt(at) & 127;
    counts[code] = (counts[code] as number) + 1;
  }
  let bits = 0;
  for (const count of counts) if (count > 0) bits -= (count / text.length) * Math.log2(count / text.length);
  return bits;
};

const isPrintableInBase64 = (text: string): boolean => {
  const bytes = Buffer.from(text, 'base64');
  let printable = 0;
  for (const byte of bytes) if ((byte >= 32 && byte < 127) || byte === 10 || byte === 9) printable += 1;
  return printable >= bytes.length * 0.9;
};

/** Least entropy that random text of this length has with near certainty (measured on random base64 and base62). */
const leastEntropy = (length: number): number => (length < 40 ? 4 : length < 64 ? 4.25 : 4.6);

/** Base64 of a known format, or too much of it to be a token. */
export const isEncodedData = (text: string): boolean => text.length > MAX_LENGTH || KNOWN_FORMAT.test(text);

/**
 * Whether a text of letters, digits, `+`, `/`, `-` and `_` looks like a random secret: all three classes mixed as chance
 * mixes them, no words, no encoding of something that is known. A digest in hexadecimal never does, nor does base 32.
 */
export const looksRandom = (text: string): boolean => {
  const bare = text.replace(/=+$/, '');
  if (bare.length < MIN_LENGTH || bare.length > MAX_LENGTH) return false;
  const { upper, lower, digit, changes, inWords } = shapeOf(bare);
  const least = bare.length / 16;
  if (upper < 2 * least || lower < 2 * least || digit < Math.max(2, 0.8 * least)) return false;
  if (changes < 0.42 * bare.length || inWords > 0.3 * bare.length) return false;
  if (wordShare(bare) > MAX_WORDS || isJoined(bare)) return false;
  if (KNOWN_FORMAT.test(bare) || MANGLED.test(bare)) return false;
  return entropyOf(bare) >= leastEntropy(bare.length) && !isPrintableInBase64(bare);
};
