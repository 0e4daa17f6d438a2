/** Bytes that one character of JSON text takes as part of a JSON string; a half of a pair has half of four. */
const costOf = (unit: number): number => {
  if (unit === 0x22 || unit === 0x5c) return 2;
  if (unit < 0x80) return 1;
  if (unit < 0x800) return 2;
  return unit >= 0xd800 && unit <= 0xdfff ? 2 : 3;
};

/** The longest beginning of a JSON text that takes at most `most` bytes as a string in a message; no character is cut. */
export const cutToWire = (text: string, most: number): string => {
  let bytes = 2;
  for (let at = 0; at < text.length; at += 1) {
    bytes += costOf(text.charCodeAt(at));
    if (bytes > most)
      return text
        .slice(0, at)
        .toWellFormed()
        .replace(/\ufffd$/, '');
  }
  return text;
};
