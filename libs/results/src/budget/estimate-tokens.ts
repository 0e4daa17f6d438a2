/** What an image takes of a model's window, whatever its size: the usual upper end of the vendors' own rules. */
export const IMAGE_TOKENS = 1600;

const COMMON_WORD = 7;

/** Tokens of a run of letters: short words are one, long ones and names of two cases are cut. */
const wordTokens = (word: string): number => {
  const humps = word.match(/[A-Z]?[a-z]+|[A-Z]+/g) ?? [];
  let tokens = 0;
  for (const hump of humps) tokens += hump.length <= COMMON_WORD ? 1 : Math.ceil(hump.length / 6);
  return Math.max(1, tokens);
};

const PIECES =
  /([A-Za-z]+)|([0-9]+)|([\u00c0-\u024f]+)|([\u0370-\u1fff]+)|([\u3040-\u30ff\uac00-\ud7af])|([\u2e80-\u2fff\u3400-\u9fff\uf900-\ufaff])|(\n+[ \t]*|[ \t]{2,})|( )|([!-/:-@[-`{-~]+)|(.)/gsu;

/**
 * An estimate of the tokens that a text takes in the tokenisers of today. It looks at the kinds of characters and knows no
 * vocabulary; how far off it is stands in its test.
 */
export const estimateTokens = (text: string): number => {
  let tokens = 0;
  for (const [, word, digits, latin, letters, syllable, han, space, blank, signs] of text.matchAll(PIECES)) {
    if (word !== undefined) tokens += wordTokens(word);
    else if (digits !== undefined) tokens += Math.ceil(digits.length / 3);
    else if (latin !== undefined) tokens += latin.length;
    else if (letters !== undefined) tokens += Math.ceil(letters.length / 2.5);
    else if (syllable !== undefined) tokens += 0.9;
    else if (han !== undefined) tokens += 0.85;
    else if (space !== undefined) tokens += 1;
    else if (blank !== undefined) tokens += 0;
    else if (signs !== undefined) tokens += signs.length === 1 ? 0.75 : Math.ceil(signs.length / 2);
    else tokens += 2;
  }
  return Math.ceil(tokens);
};
