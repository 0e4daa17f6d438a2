import { SHELL_LIMITS } from './analysis.ts';
import { Denied } from './verdicts.ts';

/** What a reader does not see, or what a parser and bash could take for different things. */
const HIDDEN = /[^\P{Cc}\t\n]|[\p{Cs}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}\p{Cf}\u2800]|(?! )\p{Zs}/u;

const codePoint = (character: string): string =>
  `U+${(character.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0')}`;

/** Throws `Denied` for a text that is too long, or that holds characters which are not shown as what they are. */
export const checkCharacters = (text: string): void => {
  const bytes = Buffer.byteLength(text);
  if (bytes > SHELL_LIMITS.bytes) throw new Denied(`it takes ${bytes} bytes; at most ${SHELL_LIMITS.bytes} are read`);
  const hidden = HIDDEN.exec(text)?.[0];
  if (hidden !== undefined) throw new Denied(`it holds the character ${codePoint(hidden)}, which nobody can see`);
};
