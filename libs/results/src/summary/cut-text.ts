const isLow = (unit: number): boolean => unit >= 0xdc00 && unit <= 0xdfff;
const isHigh = (unit: number): boolean => unit >= 0xd800 && unit <= 0xdbff;

const unitBytes = (unit: number): number => (unit < 0x80 ? 1 : unit < 0x800 ? 2 : isHigh(unit) || isLow(unit) ? 2 : 3);

/** Units of the longest beginning that takes no more bytes of UTF-8; never half a character. */
export const headUnits = (text: string, bytes: number): number => {
  let used = 0;
  let at = 0;
  for (; at < text.length; at += 1) {
    used += unitBytes(text.charCodeAt(at));
    if (used > bytes) break;
  }
  return at > 0 && at < text.length && isHigh(text.charCodeAt(at - 1)) && isLow(text.charCodeAt(at)) ? at - 1 : at;
};

/** Where the longest end begins that takes no more bytes of UTF-8; never in half a character. */
export const tailStart = (text: string, bytes: number): number => {
  let used = 0;
  let at = text.length;
  for (; at > 0; at -= 1) {
    used += unitBytes(text.charCodeAt(at - 1));
    if (used > bytes) break;
  }
  return at < text.length && at > 0 && isLow(text.charCodeAt(at)) && isHigh(text.charCodeAt(at - 1)) ? at + 1 : at;
};

/** As `headUnits`, but back to the end of a line where that costs less than half. */
export const headAtLine = (text: string, bytes: number): number => {
  const end = headUnits(text, bytes);
  if (end >= text.length) return end;
  const newline = end > 0 ? text.lastIndexOf('\n', end - 1) + 1 : 0;
  return newline > end / 2 ? newline : end;
};

/** As `tailStart`, but on to the beginning of a line where that costs less than half. */
export const tailAtLine = (text: string, bytes: number): number => {
  const start = tailStart(text, bytes);
  if (start === 0) return 0;
  const newline = text.indexOf('\n', start - 1) + 1;
  return newline > 0 && newline - start < (text.length - start) / 2 ? newline : start;
};
