import type { Redirection } from 'unbash';
import type { ShellRedirect } from './analysis.ts';
import { staticWord } from './static-word.ts';
import { Asked } from './verdicts.ts';

const MODES = { '>': 'write', '>|': 'write', '>>': 'append', '<': 'read', '&>': 'write', '&>>': 'append' } as const;
type FileOperator = keyof typeof MODES;

const isFileOperator = (operator: string): operator is FileOperator => Object.hasOwn(MODES, operator);

const standard = (number: number): 0 | 1 | 2 => {
  if (number === 0 || number === 1 || number === 2) return number;
  throw new Asked('Redirect', 'only the descriptors 0, 1 and 2 are redirected');
};

const duplicate = (operator: '<&' | '>&', descriptor: number | undefined, target: string): ShellRedirect => {
  if (!/^[012]$/.test(target)) throw new Asked('Redirect', `${operator} is read for 0, 1 and 2 alone`);
  const fd = standard(descriptor ?? (operator === '<&' ? 0 : 1));
  return { fd, mode: 'same', as: standard(Number(target)) };
};

/** Number, operator and target follow one another with nothing but blanks before the target. */
const checkText = (source: string, redirect: Redirection & { type: 'Redirect' }): void => {
  const { descriptor, operator, pos, target, end } = redirect;
  const opened = (descriptor === undefined ? '' : source.slice(descriptor.pos, descriptor.end)) + operator;
  const blanks = source.slice(pos + opened.length, target?.pos).replaceAll('\\\n', '');
  if (target?.end !== end || !source.startsWith(opened, pos) || !/^[ \t]*$/.test(blanks))
    throw new Asked('Redirect', 'it is not clear what is redirected');
};

/** What one redirection connects; `&>` connects two. Throws `Asked` for what is not a plain file or a copy. */
export const readRedirect = (source: string, redirect: Redirection): ShellRedirect[] => {
  if (redirect.type !== 'Redirect') throw new Asked(redirect.type, 'a text is fed to a program by the shell');
  const { descriptor, operator, target } = redirect;
  if (descriptor?.type === 'FileDescriptorVariable')
    throw new Asked('Redirect', 'the number of a descriptor is put into a variable');
  checkText(source, redirect);
  const word = target === undefined ? '' : staticWord(target);
  const number = descriptor?.value;
  if (operator === '<&' || operator === '>&') return [duplicate(operator, number, word)];
  if (!isFileOperator(operator)) throw new Asked('Redirect', `${operator} opens a file for both reading and writing`);
  if (word === '') throw new Asked('Redirect', 'the name of a file is empty');
  const mode = MODES[operator];
  if (operator.startsWith('&'))
    return [
      { fd: 1, mode, path: word },
      { fd: 2, mode: 'same', as: 1 },
    ];
  return [{ fd: standard(number ?? (operator === '<' ? 0 : 1)), mode, path: word }];
};
