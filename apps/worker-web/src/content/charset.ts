/** How the character set of a body was found, in the order in which they are asked. */
export type CharsetSource = 'bom' | 'header' | 'meta' | 'guess';

export interface DecodedText {
  readonly text: string;
  /** Name as of the encoding standard, lower case. */
  readonly charset: string;
  readonly source: CharsetSource;
}

/** Bytes of a page in which a `meta` element is looked for. */
const PRESCAN_BYTES = 1_024;

const known = (label: string | undefined): string | undefined => {
  if (label === undefined) return undefined;
  try {
    return new TextDecoder(label.trim()).encoding;
  } catch {
    return undefined;
  }
};

const ofMark = (bytes: Uint8Array): string | undefined => {
  const [a, b, c] = bytes;
  if (a === 0xef && b === 0xbb && c === 0xbf) return 'utf-8';
  if (a === 0xfe && b === 0xff) return 'utf-16be';
  if (a === 0xff && b === 0xfe) return 'utf-16le';
  return undefined;
};

/** A page that could be read to this point is not in UTF-16, whatever it says; and nobody means the private label. */
const meant = (name: string | undefined): string | undefined =>
  name === 'utf-16be' || name === 'utf-16le' ? 'utf-8' : name === 'x-user-defined' ? 'windows-1252' : name;

const META = /<meta\b[^>]{0,500}>/gi;
const LABEL = /charset\s*=\s*["']?\s*([^"'\s/>;]+)/i;

const ofMeta = (bytes: Buffer): string | undefined => {
  const head = bytes.toString('latin1', 0, PRESCAN_BYTES).replace(/<!--[\s\S]*?-->/g, '');
  for (const [element] of head.matchAll(META)) {
    const name = meant(known(LABEL.exec(element)?.[1]));
    if (name !== undefined) return name;
  }
  return undefined;
};

/** Text that nothing is said about: UTF-8 where it can be that, else the set that the standard falls back to. */
const guess = (bytes: Buffer): string => {
  try {
    new TextDecoder('utf-8', { fatal: true }).decode(bytes, { stream: true });
    return 'utf-8';
  } catch {
    return 'windows-1252';
  }
};

/**
 * A body as text, by the order of the encoding standard: byte order mark, header, `meta` of a page, guess. What cannot be
 * decoded stands as U+FFFD.
 */
export const decodeText = (bytes: Buffer, label: string | undefined, isPage: boolean): DecodedText => {
  const candidates: readonly [CharsetSource, () => string | undefined][] = [
    ['bom', () => ofMark(bytes)],
    ['header', () => known(label)],
    ['meta', () => (isPage ? ofMeta(bytes) : undefined)],
    ['guess', () => guess(bytes)],
  ];
  for (const [source, find] of candidates) {
    const charset = find();
    if (charset !== undefined) return { text: new TextDecoder(charset).decode(bytes), charset, source };
  }
  throw new Error('a guess always finds one');
};
