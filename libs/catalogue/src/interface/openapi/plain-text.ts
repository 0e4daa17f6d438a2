const HIDDEN = /[^\P{C}\n\t]/gu;

/** Characters that are looked at: a reference may name the same text many times. */
const MAX_READ = 8_000;

/** Text of a document as a model may read it: without what nobody sees, on few lines, cut; undefined for none. */
export const plainText = (value: unknown, most: number): string | undefined => {
  if (typeof value !== 'string') return undefined;
  const text = value
    .slice(0, MAX_READ)
    .replace(/\r\n?/g, '\n')
    .replace(HIDDEN, '')
    .replace(/[ \t]+/g, ' ')
    .replace(/\n{2,}/g, '\n')
    .trim();
  if (text === '') return undefined;
  const characters = [...text];
  return characters.length <= most ? text : `${characters.slice(0, most - 1).join('')}…`;
};
