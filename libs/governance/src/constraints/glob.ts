import { FabricError } from '@toolfabric/kernel';

/**
 * File patterns, matched in linear time (in pattern length times name length): they come from a model, and the usual
 * libraries turn them into backtracking expressions that can stop the process.
 *
 * `*` and `?` stay within a name, `**` stands for any number of directories, `[a-z]` and `[!a-z]` for one character,
 * `{a,b}` for alternatives. A pattern without `/` is matched against the last name of a path, any other one against
 * the whole path.
 */
export interface Glob {
  matches(path: string): boolean;
  /** Patterns without `/` of which every matching file name fits one; undefined when there are none. */
  readonly names: readonly string[] | undefined;
}

const MOST_BYTES = 512;
const MOST_ALTERNATIVES = 64;

type CharTest = (character: string) => boolean;
type Token = '*' | CharTest;
type Segment = '**' | { readonly tokens: readonly Token[]; readonly source: string };

const bad = (expected: string): FabricError =>
  new FabricError('invalid_arguments', 'the file pattern is not valid', { fields: [{ field: '/glob', expected }] });

/** Where the group that opens at `open` closes, and where its commas stand. */
const groupAt = (pattern: string, open: number): number[] => {
  const marks = [open];
  let depth = 0;
  for (let at = open; at < pattern.length; at += 1) {
    const character = pattern[at];
    if (character === '{') depth += 1;
    if (character === '}') depth -= 1;
    if (character === ',' && depth === 1) marks.push(at);
    if (depth === 0) return [...marks, at];
  }
  throw bad('a closing } for every {');
};

/** `a{b,c}` becomes `ab` and `ac`. */
const alternatives = (pattern: string): string[] => {
  const open = pattern.indexOf('{');
  if (open === -1) return [pattern];
  const marks = groupAt(pattern, open);
  const [head, tail] = [pattern.slice(0, open), pattern.slice((marks.at(-1) as number) + 1)];
  const found: string[] = [];
  for (let index = 0; index + 1 < marks.length; index += 1) {
    const choice = pattern.slice((marks[index] as number) + 1, marks[index + 1]);
    found.push(...alternatives(head + choice + tail));
    if (found.length > MOST_ALTERNATIVES) throw bad(`at most ${MOST_ALTERNATIVES} alternatives`);
  }
  return found;
};

const classTest = (body: string): CharTest => {
  const negated = body.startsWith('!') || body.startsWith('^');
  const characters = [...(negated ? body.slice(1) : body)];
  const ranges: [string, string][] = [];
  for (let at = 0; at < characters.length; at += 1) {
    const from = characters[at] as string;
    const isRange = characters[at + 1] === '-' && at + 2 < characters.length;
    ranges.push([from, isRange ? (characters[at + 2] as string) : from]);
    if (isRange) at += 2;
  }
  return (character) => ranges.some(([from, to]) => character >= from && character <= to) !== negated;
};

const tokensOf = (segment: string): Token[] => {
  const characters = [...segment];
  const tokens: Token[] = [];
  for (let at = 0; at < characters.length; at += 1) {
    const character = characters[at] as string;
    if (character === '*') {
      if (tokens.at(-1) !== '*') tokens.push('*');
    } else if (character === '?') tokens.push(() => true);
    else if (character === '[') {
      const close = characters.indexOf(']', at + 2);
      if (close === -1) throw bad('a closing ] for every [');
      tokens.push(classTest(characters.slice(at + 1, close).join('')));
      at = close;
    } else tokens.push((other) => other === character);
  }
  return tokens;
};

/** Greedy with one point of return, the last star: enough for patterns whose only repetition is the star. */
const fits = <Item, Part>(
  parts: readonly Part[],
  items: readonly Item[],
  isStar: (part: Part) => boolean,
  fitsOne: (part: Part, item: Item) => boolean,
): boolean => {
  let [part, item, star, mark] = [0, 0, -1, 0];
  while (item < items.length) {
    const current = parts[part];
    if (current !== undefined && isStar(current)) {
      star = part;
      mark = item;
      part += 1;
    } else if (current !== undefined && fitsOne(current, items[item] as Item)) {
      part += 1;
      item += 1;
    } else if (star !== -1) {
      part = star + 1;
      mark += 1;
      item = mark;
    } else return false;
  }
  return parts.slice(part).every(isStar);
};

const fitsName = (tokens: readonly Token[], name: string): boolean =>
  fits(
    tokens,
    [...name],
    (token) => token === '*',
    (token, character) => token !== '*' && token(character),
  );

const fitsPath = (segments: readonly Segment[], names: readonly string[]): boolean =>
  fits(
    segments,
    names,
    (segment) => segment === '**',
    (segment, name) => segment !== '**' && fitsName(segment.tokens, name),
  );

const segmentsOf = (pattern: string): Segment[] => {
  const parts = pattern.split('/').filter((part) => part !== '' && part !== '.');
  if (parts.includes('..')) throw bad('a pattern without ..');
  if (parts.length === 0) throw bad('a pattern such as *.ts or src/**/*.ts');
  const segments = parts.map((part): Segment => (part === '**' ? part : { tokens: tokensOf(part), source: part }));
  // `src/**` means everything below `src`.
  return segments.at(-1) === '**' ? [...segments, { tokens: ['*'], source: '*' }] : segments;
};

/** Only these mean the same to ripgrep's own file patterns. */
const PLAIN_NAME = /^[A-Za-z0-9._*?-]+$/;

const namesOf = (patterns: readonly (readonly Segment[])[]): string[] | undefined => {
  const names = patterns.map((segments) => segments.at(-1)).map((last) => (last === '**' ? undefined : last?.source));
  return names.every((name) => name !== undefined && PLAIN_NAME.test(name)) ? (names as string[]) : undefined;
};

/** Throws `invalid_arguments`. */
export const compileGlob = (pattern: string): Glob => {
  if (Buffer.byteLength(pattern) > MOST_BYTES || pattern.includes('\0')) throw bad(`at most ${MOST_BYTES} bytes`);
  const anywhere = !pattern.includes('/');
  const patterns = alternatives(pattern).map(segmentsOf);
  return {
    names: namesOf(patterns),
    matches(path) {
      const names = path.split('/');
      const compared = anywhere ? names.slice(-1) : names;
      return patterns.some((segments) => fitsPath(segments, compared));
    },
  };
};
