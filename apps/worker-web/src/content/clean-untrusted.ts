import { MARK_START } from '@toolfabric/results';

/** Signs of no width, of direction, tags, and control characters but tab and newline: nobody would have seen them. */
const UNSEEN =
  // biome-ignore lint/suspicious/noControlCharactersInRegex: these are the characters that it is about.
  /[\x00-\x08\x0b-\x1f\x7f-\x9f\u00ad\u061c\u115f\u1160\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\u3164\ufeff\uffa0\ufff9-\ufffb]|[\u{e0000}-\u{e0fff}]/gu;
/** Joins the parts of one picture, and letters of some scripts: kept between two signs that can be joined. */
const JOINER =
  /(?<=[\p{Extended_Pictographic}\p{M}\p{Script=Arabic}])\u200d(?=[\p{Extended_Pictographic}\p{L}])|(?<=\p{L})\u200c(?=\p{L})/gu;

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
  const joiners: string[] = [];
  const held = source
    .replaceAll('\r\n', '\n')
    .toWellFormed()
    .replace(/\ue000/g, '')
    .replace(JOINER, (sign) => {
      joiners.push(sign);
      return '\ue000';
    });
  let unseen = 0;
  const seen = held.replace(UNSEEN, () => {
    unseen += 1;
    return '';
  });
  const text = seen.replace(/\ue000/g, () => joiners.shift() ?? '').replaceAll(MARK_START, `[ ${MARK_START.slice(1)}`);
  return { text, unseen };
};
