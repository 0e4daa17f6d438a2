import type { Checked } from './check-arguments.ts';

const WITH_VALUE = new Set(
  '-name -iname -path -ipath -wholename -regex -iregex -regextype -type -xtype -size -mtime -mmin -ctime -cmin -atime -amin -newer -anewer -cnewer -maxdepth -mindepth -perm -links -inum -samefile -lname -ilname -uid -gid -printf'.split(
    ' ',
  ),
);
const ALONE = new Set(
  '-print -print0 -ls -prune -quit -empty -not ! -a -and -o -or ( ) , -true -false -depth -d -xdev -mount -follow -readable -writable -executable -daystart -noleaf -ignore_readdir_race -noignore_readdir_race -nowarn -warn'.split(
    ' ',
  ),
);
const FIRST = new Set(['-P', '-L', '-H']);

/**
 * The arguments of `find`, which has a language of its own: starting points, then an expression. What runs a program,
 * deletes, or writes to a file is not in the tables.
 */
export const checkFind = (args: readonly string[]): Checked => {
  const left = [...args];
  const taken: string[] = [];
  while (left[0] !== undefined && FIRST.has(left[0])) taken.push(left.shift() as string);
  while (left[0] !== undefined && !/^[-(!,]/.test(left[0])) taken.push(left.shift() as string);
  for (let next = left.shift(); next !== undefined; next = left.shift()) {
    if (ALONE.has(next)) taken.push(next);
    else if (WITH_VALUE.has(next)) {
      const value = left.shift();
      if (value === undefined) return { refused: { argument: next, why: 'its value is missing' } };
      taken.push(next, value);
    } else {
      const argument = next.split('=', 1)[0] ?? next;
      const allowed = [...WITH_VALUE, ...ALONE];
      return { refused: { argument, why: 'it is not among the expressions that are allowed for find', allowed } };
    }
  }
  return { args: taken };
};
