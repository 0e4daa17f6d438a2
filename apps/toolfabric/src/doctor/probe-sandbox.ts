import { askProgram } from '../programs/ask-program.ts';
import type { Programs } from '../programs/programs.ts';

export type Finding = { readonly works: true } | { readonly works: false; readonly why: string };

/** The name spaces that every command gets; a container or a hardened kernel may refuse them though bwrap is there. */
const ARGS = [
  '--unshare-all',
  '--die-with-parent',
  ...['--ro-bind', '/', '/'],
  ...['--proc', '/proc'],
  ...['--dev', '/dev'],
  '/bin/true',
];
const NOBODY = ['--reuid=65534', '--regid=65534', '--clear-groups', '--inh-caps=-all', '--bounding-set=-all'];

/** Makes one, as a user without rights, since no command runs as root. */
export const probeSandbox = async ({ bwrap, setpriv }: Programs): Promise<Finding> => {
  if (process.platform !== 'linux') return { works: false, why: 'there is no bubblewrap on this system' };
  if (bwrap === undefined) return { works: false, why: 'bwrap is missing' };
  const isRoot = process.geteuid?.() === 0;
  if (isRoot && setpriv === undefined) return { works: false, why: 'setpriv is missing, and no command runs as root' };
  const command = isRoot && setpriv ? [setpriv, ...NOBODY, '--', bwrap] : [bwrap];
  const [program = bwrap, ...args] = [...command, ...ARGS];
  const { code, text } = await askProgram(program, args);
  return code === 0 ? { works: true } : { works: false, why: text.split('\n', 1)[0] || `bwrap ended with ${code}` };
};
