import { MARK_START } from '@toolfabric/results';

/**
 * Control characters but tab and newline, and what is shown as nothing: no width, direction, tags, fillers. The joiners
 * and the selectors of a picture's form are looked at by themselves.
 */
const UNSEEN =
  // biome-ignore lint/suspicious/noControlCharactersInRegex: these are the characters that it is about.
  /(?!\u200c|\u200d|\ufe0e|\ufe0f)([\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\ufff9-\ufffb\p{Default_Ignorable_Code_Point}])/gu;
/** Selectors of a form: kept behind a picture, and what else has two forms. The group is what goes. */
const FORM = /(?<=[\p{Extended_Pictographic}\d#*])[\ufe0e\ufe0f]|([\ufe0e\ufe0f])/gu;
/** Scripts whose letters are written in another way beside a joiner. */
const JOINING = 'Arab Syrc Mong Deva Beng Guru Gujr Orya Taml Telu Knda Mlym Sinh Khmr Mymr'
  .split(' ')
  .map((script) => `\\p{scx=${script}}`)
  .join('');
/** Joiners: kept between parts of one picture, and between letters of such a script. The group is what goes. */
const JOINER = new RegExp(
  '(?<=[\\p{Extended_Pictographic}\\p{Emoji_Modifier}\\ufe0f])\\u200d(?=\\p{Extended_Pictographic})|' +
    `(?<=[${JOINING}])[\\u200c\\u200d](?=[${JOINING}])|([\\u200c\\u200d])`,
  'gu',
);

export interface CleanedText {
  readonly text: string;
  /** Characters that were taken out. */
  readonly unseen: number;
}

/**
 * Text of the outside without what nobody would have seen (RS-6). What imitates a mark of the fabric is opened up, so
 * that a mark in a result always is one of ours.
 */
export const cleanUntrusted = (source: string): CleanedText => {
  let unseen = 0;
  const without = (text: string, pattern: RegExp): string =>
    text.replace(pattern, (sign: string, going: string | undefined) => {
      if (going === undefined) return sign;
      unseen += 1;
      return '';
    });
  const text = source.replaceAll('\r\n', '\n').toWellFormed();
  const seen = [UNSEEN, FORM, JOINER].reduce(without, text);
  return { text: seen.replaceAll(MARK_START, `[ ${MARK_START.slice(1)}`), unseen };
};
