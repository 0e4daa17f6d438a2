import { compileGlob } from './glob.ts';

/** Where something may be written, in words that an executor can mount. Paths are relative to the workspace root. */
export interface WritablePlaces {
  /** Everything below these; an empty path is the root. None lies in another one. */
  readonly directories: readonly string[];
  /** These files, each by its whole path, and none of them in one of the directories. */
  readonly files: readonly string[];
}

const DIRECTORY = /^((?:[^*?[\]{}/]+\/)*)\*\*$/;
/** With a slash: without one a pattern means a name, wherever it is. */
const FILE = /^(?:[^*?[\]{}/]+\/)+[^*?[\]{}/]+$/;
const DOTS = /(?:^|\/)\.\.?(?:\/|$)/;

const bare = (glob: string): string => glob.replace(/^(?:\.\/)+/, '');

const directoryOf = (glob: string): string | undefined => {
  const found = DIRECTORY.exec(bare(glob))?.[1];
  return found === undefined || DOTS.test(found) ? undefined : found.slice(0, -1);
};

const fileOf = (glob: string): string | undefined =>
  FILE.test(glob) && !DOTS.test(bare(glob)) ? bare(glob) : undefined;

const isWithin = (directory: string, path: string): boolean => directory === '' || path.startsWith(`${directory}/`);

/** The globs that are neither a whole directory (`src/**`) nor one file (`./package.json`). */
export const vagueGlobs = (globs: readonly string[]): string[] =>
  globs.filter((glob) => directoryOf(glob) === undefined && fileOf(glob) === undefined);

/** Undefined where a glob is vague. What it names is never more than what the globs match. */
export const writablePlaces = (globs: readonly string[]): WritablePlaces | undefined => {
  if (isWholeWritable(globs, '')) return { directories: [''], files: [] };
  if (vagueGlobs(globs).length > 0) return undefined;
  const named = [...new Set(globs.flatMap((glob) => directoryOf(glob) ?? []))];
  const directories = named.filter((path) => !named.some((other) => other !== path && isWithin(other, path)));
  const files = [...new Set(globs.flatMap((glob) => fileOf(glob) ?? []))];
  return { directories, files: files.filter((path) => !directories.some((directory) => isWithin(directory, path))) };
};

/** Of a path relative to the workspace root, `..` and links resolved. */
export const isWritable = (globs: readonly string[], path: string): boolean =>
  !path.startsWith('/') &&
  path.split('/').every((name) => name !== '..') &&
  globs.some((glob) => compileGlob(glob).matches(path));

/** Whether everything below that directory may be written. */
export const isWholeWritable = (globs: readonly string[], directory: string): boolean =>
  globs.some((glob) => {
    const whole = directoryOf(glob);
    return whole !== undefined && (whole === directory || isWithin(whole, directory));
  });
