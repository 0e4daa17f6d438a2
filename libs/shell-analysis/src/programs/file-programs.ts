import { parseOptions } from './option-spec.ts';
import type { ProgramRule, Refusal } from './program-rule.ts';

const gnu = (options: string, more: Partial<ProgramRule> = {}): ProgramRule => ({
  style: 'gnu',
  options: parseOptions(options),
  ...more,
});

const atMost =
  (most: number, why: string) =>
  (operands: readonly string[]): Refusal | undefined =>
    operands.length > most ? { argument: operands[most] ?? '', why } : undefined;

/** Permission bits without those that let a file run as somebody else. */
const MODE = /^(0?[0-7]{3}|[ugoa]*[-+=][rwxX]*(,[ugoa]*[-+=][rwxX]*)*)$/;

const modeFirst = ([mode = '']: readonly string[]): Refusal | undefined =>
  MODE.test(mode)
    ? undefined
    : { argument: mode, why: 'the mode sets no other bits than r, w and x, as in a+x or 644' };

const format = (operands: readonly string[]): Refusal | undefined => {
  const other = operands.find((operand) => !operand.startsWith('+'));
  return other === undefined ? undefined : { argument: other, why: 'date takes a format that begins with +' };
};

const CHECKSUM = '-b,--binary -c,--check -t,--text -w,--warn --tag --quiet --status --strict --ignore-missing';

/** Programs that look at files. None of their options runs a program or writes anywhere but to the output. */
export const READING: Readonly<Record<string, ProgramRule>> = {
  cat: gnu(
    '-A,--show-all -b,--number-nonblank -e -E,--show-ends -n,--number -s,--squeeze-blank -t -T,--show-tabs -u -v,--show-nonprinting',
  ),
  head: gnu('-c,--bytes= -n,--lines= -q,--quiet,--silent -v,--verbose -z,--zero-terminated', { digits: '--lines' }),
  tail: gnu('-c,--bytes= -n,--lines= -q,--quiet,--silent -v,--verbose -z,--zero-terminated', { digits: '--lines' }),
  wc: gnu('-c,--bytes -m,--chars -l,--lines -L,--max-line-length -w,--words'),
  ls: gnu(
    '-a,--all -A,--almost-all -l -h,--human-readable -R,--recursive -t -S -r,--reverse -1 -d,--directory -F -i,--inode -n,--numeric-uid-gid -p -s,--size -G,--no-group -o -g --full-time --color=? --time-style= --sort=',
  ),
  stat: gnu('-c,--format= -L,--dereference -t,--terse --printf='),
  du: gnu(
    '-a,--all -h,--human-readable -s,--summarize -d,--max-depth= -c,--total -b,--bytes -k -m --apparent-size --exclude= -x,--one-file-system',
  ),
  sort: gnu(
    '-b,--ignore-leading-blanks -d,--dictionary-order -f,--ignore-case -g,--general-numeric-sort -i,--ignore-nonprinting -M,--month-sort -h,--human-numeric-sort -n,--numeric-sort -r,--reverse -V,--version-sort -c,--check=? -C -k,--key= -m,--merge -s,--stable -t,--field-separator= -u,--unique -z,--zero-terminated',
  ),
  uniq: gnu(
    '-c,--count -d,--repeated -D,--all-repeated=? -i,--ignore-case -u,--unique -f,--skip-fields= -s,--skip-chars= -w,--check-chars= -z,--zero-terminated',
    { operands: atMost(1, 'uniq writes to its second file; read its output instead') },
  ),
  cut: gnu(
    '-b,--bytes= -c,--characters= -d,--delimiter= -f,--fields= -n -s,--only-delimited --complement --output-delimiter= -z,--zero-terminated',
  ),
  diff: gnu(
    '-u -U,--unified=? -c -C,--context=? -r,--recursive -q,--brief -s,--report-identical-files -i,--ignore-case -w,--ignore-all-space -b,--ignore-space-change -B,--ignore-blank-lines -N,--new-file -y,--side-by-side -W,--width= -a,--text -x,--exclude= --strip-trailing-cr --color=?',
  ),
  cmp: gnu('-b,--print-bytes -l,--verbose -n,--bytes= -s,--quiet,--silent -i,--ignore-initial='),
  md5sum: gnu(CHECKSUM),
  sha1sum: gnu(CHECKSUM),
  sha256sum: gnu(CHECKSUM),
  sha512sum: gnu(CHECKSUM),
  grep: gnu(
    '-E,--extended-regexp -F,--fixed-strings -G,--basic-regexp -P,--perl-regexp -i,--ignore-case -v,--invert-match -w,--word-regexp -x,--line-regexp -c,--count -l,--files-with-matches -L,--files-without-match -o,--only-matching -q,--quiet,--silent -s,--no-messages -m,--max-count= -n,--line-number -H,--with-filename -h,--no-filename -r,--recursive -R,--dereference-recursive -A,--after-context= -B,--before-context= -C,--context= -a,--text -I -e,--regexp= -f,--file= -z,--null-data -Z,--null --include= --exclude= --exclude-dir= --color=?',
  ),
  rg: gnu(
    '-i,--ignore-case -S,--smart-case -s,--case-sensitive -v,--invert-match -w,--word-regexp -x,--line-regexp -c,--count --count-matches -l,--files-with-matches --files-without-match -o,--only-matching -n,--line-number -N,--no-line-number -H,--with-filename -I,--no-filename -F,--fixed-strings -U,--multiline --multiline-dotall -P,--pcre2 -A,--after-context= -B,--before-context= -C,--context= -e,--regexp= -f,--file= -g,--glob= --iglob= -t,--type= -T,--type-not= -m,--max-count= -u,--unrestricted -r,--replace= --files --hidden --no-ignore --json --sort= --sortr= --max-depth= --stats --heading --no-heading --column --trim --vimgrep --color= -j,--threads= --type-list --passthru -a,--text --crlf --null -q,--quiet',
    { fixed: ['--no-config'] },
  ),
  // `--sandbox` makes sed refuse its commands that run programs and that read or write other files.
  sed: gnu(
    '-n,--quiet,--silent -E -r,--regexp-extended -e,--expression= -f,--file= -s,--separate -u,--unbuffered -z,--null-data -l,--line-length= --posix',
    { fixed: ['--sandbox'] },
  ),
  jq: gnu(
    '-r,--raw-output -c,--compact-output -s,--slurp -n,--null-input -e,--exit-status -S,--sort-keys -M,--monochrome-output -C,--color-output -a,--ascii-output -j,--join-output --tab',
  ),
  date: gnu('-u,--utc -R,--rfc-email -I,--iso-8601=? -d,--date=', { operands: format, noSeparator: true }),
  pwd: gnu('-L,--logical -P,--physical'),
  true: gnu('', { noSeparator: true }),
  false: gnu('', { noSeparator: true }),
  sleep: gnu('', { operands: atMost(1, 'one duration') }),
  echo: { style: 'first', options: parseOptions('-n -e -E') },
};

/** Programs that change files of the workspace. */
const WRITING: Readonly<Record<string, ProgramRule>> = {
  mkdir: gnu('-p,--parents -v,--verbose'),
  cp: gnu(
    '-r,-R,--recursive -p -a,--archive -n,--no-clobber -f,--force -v,--verbose -u -d -P,--no-dereference -L,--dereference -T,--no-target-directory -t,--target-directory=',
  ),
  mv: gnu('-f,--force -n,--no-clobber -v,--verbose -u -T,--no-target-directory -t,--target-directory='),
  rm: gnu('-r,-R,--recursive -f,--force -v,--verbose -d,--dir'),
  touch: gnu('-c,--no-create -a -m -d,--date= -r,--reference='),
  chmod: gnu('-R,--recursive -v,--verbose -c,--changes', { operands: modeFirst }),
};

export const FILE_PROGRAMS: Readonly<Record<string, ProgramRule>> = { ...READING, ...WRITING };
