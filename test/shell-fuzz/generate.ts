import { CORPUS } from './corpus.ts';
import type { Random } from './random.ts';

const NAMES = 'ls cat echo sort head wc true false pwd rg sed grep find cp rm mkdir touch cut uniq'.split(' ');
const FILES = ['a', 'b', 'c', 'd/e', '"c d"', "'c d'", 'c\\ d', 'nope/x', '/dev/null', './a', 'd'];
const PLAIN = [
  'a',
  'b',
  '-l',
  '-n1',
  '--all',
  'x=1',
  'a.b',
  '1',
  '2',
  '12',
  '%',
  '+',
  ',',
  ':',
  '@',
  '^',
  ']',
  '!',
  '-',
  '--',
  'ü',
  '日',
  '=',
  'if',
  'in',
  'done',
  '/',
];
const INSIDE = [
  ' ',
  '  ',
  'a',
  'b c',
  '#',
  ';',
  '|',
  '&',
  '&&',
  '>',
  '<',
  '(',
  ')',
  '{',
  '}',
  '*',
  '?',
  '~',
  '!',
  '\n',
  '\t',
  '\\\n',
  '2>&1',
  'ü',
  '=',
  '[',
  ']',
  '%',
  ',',
  '.',
  '/',
];
const IN_DOUBLE = ["'", '\\"', '\\\\', '\\$', '\\`', '\\a', '\\ ', "\\'", '$ ', '$|', '$)', '\\!', '$,'];
const IN_SINGLE = ['"', '\\', '$', '`', '$(ls)', `\${x}`, '\\\\', '\\n'];
const ESCAPED = [
  '\\ ',
  '\\\n',
  '\\a',
  '\\\\',
  '\\$',
  '\\"',
  "\\'",
  '\\`',
  '\\*',
  '\\?',
  '\\~',
  '\\{',
  '\\;',
  '\\|',
  '\\&',
  '\\>',
  '\\#',
  '\\(',
  '\\!',
  '\\ü',
];
const BLANKS = [' ', ' ', ' ', '  ', '\t', ' \\\n', ' \\\n '];
const JOINTS = [
  ' && ',
  '&&',
  ' || ',
  '||',
  '; ',
  ';',
  '\n',
  '\n\n',
  ' &&\n',
  ' ||\n ',
  ' ;\n',
  ' # x y\n',
  '\n#\'"`\n',
  ' && # y\n',
  '\\\n&& ',
  ';\\\n',
];
const PIPES = [' | ', '|', ' |\n', ' |& ', '|&', '| # c\n', '|\\\n', ' \\\n| '];
/** What changes the meaning of everything around it. */
const TRICKS = [
  '$x',
  '$(ls)',
  '`ls`',
  `\${x}`,
  '$((1))',
  "$'a'",
  '$"a"',
  '$',
  '"$x"',
  '"$(ls)"',
  '"`ls`"',
  '*',
  '?',
  '[a]',
  '~',
  '{a,b}',
  '{',
  '}',
  '(',
  ')',
  '<<E\nx\nE\n',
  "<<'E'\nx\nE\n",
  '<<-E',
  '<<<a',
  '<(ls)',
  '>(ls)',
  '&',
  '& ',
  ';;',
  '!',
  '! ',
  'time ',
  '[[ ',
  ']]',
  '((',
  '))',
  'eval ',
  'exec ',
  'command ',
  'function f ',
  'f()',
  'if ',
  'then ',
  'fi',
  'while ',
  'do ',
  'done',
  'case ',
  'esac',
  'for x in ',
  'coproc ',
  'select ',
  '{ ',
  '; }',
  'a=1 ',
  'CI=2 ',
  'LC_ALL=C ',
  'a[0]=1 ',
  '+=',
  '\r',
  '\0',
  '\u00a0',
  '\u200b',
  '\u2028',
  '\u000b',
  '\\',
  '"',
  "'",
  '`',
  '#',
  ' #',
  '\n',
  '\\\n',
  '3>a',
  '2>',
  '>&',
  '<&',
  '>|',
  '<>',
  '&>',
  '&>>',
  '>>',
  '{v}>a',
  '>&-',
  '2>&1',
  '1>&2',
  '0<&1',
  '12>a',
  '@(a)',
  '!(a)',
  '$\\\n',
  '\\\r\n',
  'extglob',
  '\\',
  '\t',
  '|',
  '||',
  '&&',
  ';',
];

const quoted = (random: Random, quote: string, inside: readonly string[]): string =>
  quote + random.times(4, () => random.pick(random.chance(0.6) ? INSIDE : inside)).join('') + quote;

const piece = (random: Random): string => {
  const kind = random.next();
  if (kind < 0.55) return random.pick(PLAIN);
  if (kind < 0.7) return quoted(random, '"', IN_DOUBLE);
  if (kind < 0.85) return quoted(random, "'", IN_SINGLE);
  return random.pick(ESCAPED);
};

const word = (random: Random): string => piece(random) + random.times(2, () => piece(random)).join('');

const redirect = (random: Random): string => {
  const blank = random.chance(0.5) ? '' : random.pick(BLANKS);
  if (random.chance(0.25)) return random.pick(['2>&1', '1>&2', '>&2', '2>&2', '<&0', '>&1', '2>& 1']);
  return random.pick(['>', '<', '>>', '2>', '2>>', '>|', '&>', '&>>', '1>', '0<']) + blank + random.pick(FILES);
};

const command = (random: Random): string => {
  const parts: string[] = [];
  if (random.chance(0.15))
    parts.push(random.pick(['CI=1', 'NODE_ENV=a', "LANG='a b'", 'TZ=', 'CI="x\\$"', 'NO_COLOR=a\\ b']));
  if (random.chance(0.07)) parts.push(redirect(random));
  const name = random.pick(NAMES);
  parts.push(
    random.chance(0.9)
      ? name
      : random.pick([`"${name}"`, `'${name}'`, `\\${name}`, `${name.slice(0, 1)}''${name.slice(1)}`]),
  );
  for (const part of random.times(4, () => (random.chance(0.25) ? redirect(random) : word(random)))) parts.push(part);
  return parts.reduce(
    (all, part) => all + (/^[<>&]/.test(part) && random.chance(0.3) ? '' : random.pick(BLANKS)) + part,
  );
};

const pipeline = (random: Random): string =>
  [command(random), ...random.times(2, () => random.pick(PIPES) + command(random))].join('');

/** A text out of the grammar of what may run without a shell. */
const grown = (random: Random): string => {
  const text = [pipeline(random), ...random.times(2, () => random.pick(JOINTS) + pipeline(random))].join('');
  return (
    random.pick(['', '', '', ' ', '\n', '# x\n', '#!/bin/bash\n', '\\\n']) +
    text +
    random.pick(['', '', '', '\n', ' ', ';', ' # end', '\\', '\\\n', ' \\\n', '#'])
  );
};

const mutate = (random: Random, text: string): string => {
  const at = random.below(text.length + 1);
  const length = 1 + random.below(4);
  switch (random.below(6)) {
    case 0:
      return text.slice(0, at) + text.slice(at + length);
    case 1:
      return text.slice(0, at) + text.slice(at, at + length).repeat(2) + text.slice(at + length);
    case 2:
      return text.slice(0, at) + random.pick(ESCAPED) + text.slice(at);
    case 3:
      return text.slice(0, at) + random.pick(INSIDE) + text.slice(at + 1);
    default:
      return text.slice(0, at) + random.pick(TRICKS) + text.slice(at);
  }
};

/** One text: out of the grammar, or a mutation of one of these or of the corpus. */
export const generate = (random: Random): string => {
  let text = random.chance(0.75) ? grown(random) : random.pick(CORPUS);
  if (random.chance(0.6)) for (const _ of random.times(3, () => 0)) text = mutate(random, text);
  if (random.chance(0.05)) text = `${text}${random.pick(JOINTS)}${random.pick(CORPUS)}`;
  return text;
};
