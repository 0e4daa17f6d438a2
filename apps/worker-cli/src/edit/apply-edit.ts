import { FabricError } from '@toolfabric/kernel';

export interface Edit {
  readonly oldText: string;
  readonly newText: string;
  readonly replaceAll: boolean;
}

export interface EditedText {
  readonly text: string;
  readonly replacements: number;
  /** The file has CRLF line ends and the edit was given with LF: it was carried over. */
  readonly carriedToCrlf: boolean;
}

const MOST_LINES_NAMED = 5;

const lineAt = (text: string, position: number): number => text.slice(0, position).split('\n').length;

/** Where `part` occurs, overlaps included: what overlaps itself is not unique. At most `most` places. */
const places = (text: string, part: string, most: number): number[] => {
  const found: number[] = [];
  for (let at = text.indexOf(part); at !== -1 && found.length < most; at = text.indexOf(part, at + 1)) found.push(at);
  return found;
};

/** Lines that equal the first line of the wanted text but for white space: usually what was meant. */
const similarLines = (text: string, wanted: string): number[] => {
  const first = wanted
    .split('\n')
    .find((line) => line.trim() !== '')
    ?.trim();
  if (first === undefined) return [];
  return text.split('\n').flatMap((line, index) => (line.trim() === first ? [index + 1] : []));
};

const notFound = (text: string, wanted: string): FabricError => {
  const similar = similarLines(text, wanted).slice(0, MOST_LINES_NAMED);
  if (similar.length === 0) return new FabricError('text_not_found', 'old_text does not occur in the file');
  const where = `line ${similar.join(', ')}`;
  return new FabricError('text_not_found', `old_text does not occur in the file; its first line is like ${where}`);
};

const ambiguous = (text: string, found: readonly number[]): FabricError => {
  const lines = found.slice(0, MOST_LINES_NAMED).map((at) => lineAt(text, at));
  const more = found.length > MOST_LINES_NAMED ? ' and more' : '';
  return new FabricError('text_ambiguous', `old_text occurs more than once: at line ${lines.join(', ')}${more}`);
};

const usesCrlfOnly = (text: string): boolean => text.includes('\r\n') && !/(^|[^\r])\n/.test(text);
const toCrlf = (text: string): string => text.replaceAll('\n', '\r\n');

const replaceIn = (text: string, { oldText, newText, replaceAll }: Edit): Omit<EditedText, 'carriedToCrlf'> => {
  if (replaceAll) {
    const parts = text.split(oldText);
    return { text: parts.join(newText), replacements: parts.length - 1 };
  }
  const found = places(text, oldText, MOST_LINES_NAMED + 1);
  if (found.length > 1) throw ambiguous(text, found);
  const at = found[0] as number;
  return { text: text.slice(0, at) + newText + text.slice(at + oldText.length), replacements: 1 };
};

/**
 * Exact replacement. In a file whose line ends are all CRLF, an edit that is written with LF means CRLF. Throws
 * `text_not_found` and `text_ambiguous`.
 */
export const applyEdit = (text: string, edit: Edit): EditedText => {
  if (edit.oldText === '') {
    if (text !== '') throw new FabricError('text_ambiguous', 'an empty old_text fits an empty file only');
    return { text: edit.newText, replacements: 1, carriedToCrlf: false };
  }
  if (text.includes(edit.oldText)) {
    const carry = usesCrlfOnly(text) && !edit.oldText.includes('\n') && /(^|[^\r])\n/.test(edit.newText);
    const newText = carry ? toCrlf(edit.newText.replaceAll('\r\n', '\n')) : edit.newText;
    return { ...replaceIn(text, { ...edit, newText }), carriedToCrlf: carry };
  }
  const carried = { ...edit, oldText: toCrlf(edit.oldText), newText: toCrlf(edit.newText) };
  const fits = usesCrlfOnly(text) && !edit.oldText.includes('\r') && text.includes(carried.oldText);
  if (!fits) throw notFound(text, edit.oldText);
  return { ...replaceIn(text, carried), carriedToCrlf: true };
};
