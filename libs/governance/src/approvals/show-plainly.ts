/**
 * What a reader does not see, or what changes how the rest is seen: control and format characters, bidirectional and
 * zero-width ones, tags, variation selectors, fillers, spaces other than the one, characters without a meaning.
 */
const HIDDEN = /(?! )[\p{C}\p{Z}\p{Default_Ignorable_Code_Point}\u2800]/gu;

const NAMES: Readonly<Record<string, string>> = { '\n': '\\n', '\r': '\\r', '\t': '\\t' };

const escaped = (char: string): string =>
  NAMES[char] ?? `\\u{${(char.codePointAt(0) ?? 0).toString(16).padStart(4, '0')}}`;

/** One line on which every character is seen as what it is. */
export const onOneLine = (text: string): string => text.replace(HIDDEN, escaped);

/** The same for several lines, each behind a bar: no text can pass for a line of the preview itself. */
export const behindBars = (text: string): string[] => text.split('\n').map((line) => `  | ${onOneLine(line)}`);
