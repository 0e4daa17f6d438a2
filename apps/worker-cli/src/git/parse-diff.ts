/** How many lines of one file changed; undefined counts for a binary file. */
export interface FileDiff {
  readonly path: string;
  readonly added?: number;
  readonly removed?: number;
}

const NUMBERS = /^(\d+|-)\t(\d+|-)\t(.*)$/;

const ESCAPES: Readonly<Record<string, string>> = {
  n: '\n',
  t: '\t',
  r: '\r',
  '"': '"',
  '\\': '\\',
  a: '\u0007',
  b: '\b',
  f: '\f',
  v: '\v',
};

/** A path that git put into quotation marks. */
const unquoted = (path: string): string => {
  if (!path.startsWith('"')) return path;
  const bytes: number[] = [];
  for (const [part] of path.slice(1, -1).matchAll(/\\[0-7]{3}|\\.|[^\\]+/gs)) {
    if (/^\\[0-7]{3}$/.test(part)) bytes.push(Number.parseInt(part.slice(1), 8));
    else bytes.push(...Buffer.from(part.startsWith('\\') ? (ESCAPES[part[1] ?? ''] ?? part) : part));
  }
  return Buffer.from(bytes).toString('utf8');
};

export const parseNumbers = (line: string): FileDiff | undefined => {
  const [, added = '', removed = '', path] = NUMBERS.exec(line) ?? [];
  if (path === undefined) return undefined;
  if (added === '-') return { path: unquoted(path) };
  return { path: unquoted(path), added: Number(added), removed: Number(removed) };
};
