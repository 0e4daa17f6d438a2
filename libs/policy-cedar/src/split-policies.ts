export interface PolicyText {
  readonly text: string;
  /** Of its first character that is no white space and no comment, from 1. */
  readonly line: number;
}

const isSpace = (character: string | undefined): boolean => character !== undefined && /\s/.test(character);

/** The place behind a string, a comment or a single character. */
const skip = (source: string, at: number): number => {
  if (source.startsWith('//', at)) {
    const end = source.indexOf('\n', at);
    return end < 0 ? source.length : end + 1;
  }
  if (source[at] !== '"') return at + 1;
  let end = at + 1;
  while (end < source.length && source[end] !== '"') end += source[end] === '\\' ? 2 : 1;
  return Math.min(end + 1, source.length);
};

const lineAt = (source: string, at: number): number => source.slice(0, at).split('\n').length;

/**
 * The policies of a text, each to its semicolon, with the line that it begins at; what is left at the end is the last of
 * them, so that nothing is ever left out. Cedar has semicolons only there, in strings and in comments.
 */
export const splitPolicies = (source: string): PolicyText[] => {
  const found: PolicyText[] = [];
  let begin: number | undefined;
  for (let at = 0; at < source.length; ) {
    const next = skip(source, at);
    if (begin === undefined && !isSpace(source[at]) && !source.startsWith('//', at)) begin = at;
    if (begin !== undefined && source[at] === ';') {
      found.push({ text: source.slice(begin, next), line: lineAt(source, begin) });
      begin = undefined;
    }
    at = next;
  }
  if (begin !== undefined) found.push({ text: source.slice(begin).trimEnd(), line: lineAt(source, begin) });
  return found;
};
