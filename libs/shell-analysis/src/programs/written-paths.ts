import { READING } from './file-programs.ts';

/** Operands and the directory of `--target-directory`, out of checked arguments. */
const named = (args: readonly string[]): { operands: readonly string[]; target: string | undefined } => {
  const end = args.indexOf('--');
  const options = end === -1 ? args : args.slice(0, end);
  const prefix = '--target-directory=';
  const target = options.findLast((option) => option.startsWith(prefix))?.slice(prefix.length);
  return { operands: end === -1 ? [] : args.slice(end + 1), target };
};

type Written = (args: readonly string[]) => readonly string[];

const operands: Written = (args) => named(args).operands;

const WRITTEN: Readonly<Record<string, Written>> = {
  mkdir: operands,
  rm: operands,
  touch: operands,
  chmod: (args) => named(args).operands.slice(1),
  cp: (args) => {
    const { operands: all, target } = named(args);
    return target === undefined ? all.slice(-1) : [target];
  },
  mv: (args) => {
    const { operands: all, target } = named(args);
    return target === undefined ? all : [...all, target];
  },
};

/**
 * Paths that a program may write, from its arguments as `checkProgram` has written them out, each with everything below
 * it. Undefined where they are not known: the program runs what the workspace holds.
 */
export const writtenPaths = (name: string, args: readonly string[]): readonly string[] | undefined => {
  if (name === 'find' || Object.hasOwn(READING, name)) return [];
  return Object.hasOwn(WRITTEN, name) ? WRITTEN[name]?.(args) : undefined;
};
