import { RE2JS } from 're2js';

/** Characters of text that a pattern is tried on; longer text never matches. */
export const MAX_PATTERN_TEXT = 4096;
const MAX_PATTERN_LENGTH = 500;
/** Instructions of a compiled pattern. With the text it bounds the time of one match. */
const MAX_PROGRAM = 500;

export interface LinearPattern {
  test(text: string): boolean;
  /** The pattern itself: the validator tells patterns apart by it. */
  toString(): string;
}

/**
 * Compiles a pattern of a schema for an engine that never backtracks: the time of a match grows with text times
 * pattern, whatever either holds. Look-around and back-references do not exist there. Throws an `Error` that says why
 * the pattern is refused.
 */
export const compileLinearPattern = (pattern: string): LinearPattern => {
  if (pattern.length > MAX_PATTERN_LENGTH)
    throw new Error(`the pattern is longer than ${MAX_PATTERN_LENGTH} characters`);
  try {
    new RegExp(pattern, 'u');
  } catch {
    throw new Error('the pattern is not a regular expression of JSON Schema');
  }
  let compiled: RE2JS;
  try {
    compiled = RE2JS.compile(RE2JS.translateRegExp(pattern));
  } catch {
    throw new Error('the pattern cannot be matched in linear time: it may not use look-around or back-references');
  }
  if (compiled.programSize() > MAX_PROGRAM) throw new Error('the pattern is too large');
  return {
    test: (text) => text.length <= MAX_PATTERN_TEXT && compiled.test(text),
    toString: () => pattern,
  };
};
