import { describe, expect, it } from 'vitest';
import { analyseShell } from './analyse-shell.ts';
import { SHELL_LIMITS, type ShellPipeline, type ShellRedirect } from './analysis.ts';

const showRedirect = (redirect: ShellRedirect): string =>
  redirect.mode === 'same' ? `${redirect.fd}=${redirect.as}` : `${redirect.fd}:${redirect.mode}:${redirect.path}`;

const JOINED = { always: ';', after_success: '&&', after_failure: '||' } as const;

const showPipeline = ({ when, commands }: ShellPipeline): string =>
  `${JOINED[when]} ${commands
    .map(({ argv, env, redirects }) =>
      JSON.stringify([...Object.entries(env).map((pair) => pair.join('=')), argv, ...redirects.map(showRedirect)]),
    )
    .join(' | ')}`;

/** One line a pipeline, or what was said instead. */
const meaning = (text: string): string => {
  const said = analyseShell(text);
  if (said.verdict === 'run') return said.pipelines.map(showPipeline).join('\n');
  return said.verdict === 'ask' ? `ask ${said.node}` : 'deny';
};

describe('CL-3: what runs without a shell', () => {
  it.each([
    ['ls -la src', '; [["ls","-la","src"]]'],
    ['  cat  "a b"\t\'c\' d\\ e "" x"y"\'z\' ', '; [["cat","a b","c","d e","","xyz"]]'],
    ['rg -n TODO src | sort | head -20', '; [["rg","-n","TODO","src"]] | [["sort"]] | [["head","-20"]]'],
    ['true && echo a || echo b; pwd', '; [["true"]]\n&& [["echo","a"]]\n|| [["echo","b"]]\n; [["pwd"]]'],
    ['ls\n\n# a comment\ncat x # more\n', '; [["ls"]]\n; [["cat","x"]]'],
    ['#!/bin/bash\nls', '; [["ls"]]'],
    ['sort a > b 2>&1 < c', '; [["sort","a"],"1:write:b","2=1","0:read:c"]'],
    ['wc -l x 2>>"e r" &>/dev/null', '; [["wc","-l","x"],"2:append:e r","1:write:/dev/null","2=1"]'],
    ['cat a |& grep b', '; [["cat","a"],"2=1"] | [["grep","b"]]'],
    ['CI=1 NODE_ENV=test node --test a.mjs', '; ["CI=1","NODE_ENV=test",["node","--test","a.mjs"]]'],
    ['echo a\\\nb "c\\\nd" \\\n e', '; [["echo","ab","cd","e"]]'],
    ['grep "foo$" x', '; [["grep","foo$","x"]]'],
    ['grep -E "a|b" \'$x `y` *\' ', '; [["grep","-E","a|b","$x `y` *"]]'],
    ['echo "a\\"b\\\\c\\$d\\`e\\f"', '; [["echo","a\\"b\\\\c$d`e\\\\f"]]'],
    ["sed -n 's/a/b/p' x|cut -d, -f1", '; [["sed","-n","s/a/b/p","x"]] | [["cut","-d,","-f1"]]'],
    ['find . -name "*.ts" ! -path "./x/*"', '; [["find",".","-name","*.ts","!","-path","./x/*"]]'],
    ['cat <in >|out', '; [["cat"],"0:read:in","1:write:out"]'],
    ['"l"s \\-a', '; [["ls","-a"]]'],
    ['true |\n# why\n cat &&\n\n pwd', '; [["true"]] | [["cat"]]\n&& [["pwd"]]'],
    ['echo a#b', '; [["echo","a#b"]]'],
    ['echo grüße 日本', '; [["echo","grüße","日本"]]'],
  ])('%j', (text, expected) => {
    expect(meaning(text)).toBe(expected);
  });

  it('passes on every option by its full name', () => {
    const said = analyseShell('head -5 -- -x');
    expect(said).toMatchObject({
      pipelines: [{ commands: [{ argv: ['head', '-5', '--', '-x'], args: ['--lines=5', '--', '-x'] }] }],
    });
  });
});

describe('CL-3: what only a shell can give a meaning to is asked about, and named', () => {
  it.each([
    ['echo $HOME', 'Expansion'],
    [`echo "\${x@P}"`, 'Expansion'],
    ['echo "$(id)"', 'Expansion'],
    ['echo `id`', 'CommandExpansion'],
    ['echo "`id`"', 'CommandExpansion'],
    ['echo $((1+1))', 'Expansion'],
    ["echo $'\\x72'", 'Expansion'],
    ['echo $"x"', 'Expansion'],
    ['echo *', 'Glob'],
    ['echo a?', 'Glob'],
    ['echo [a]', 'Glob'],
    ['echo @(a|b)', 'Word'],
    ['echo ~', 'Tilde'],
    ['echo a=~/x', 'Tilde'],
    ['echo {a,b}', 'BraceExpansion'],
    ['r{m,} x', 'BraceExpansion'],
    ['cat <(ls)', 'Word'],
    ['cat << E\nx\nE\n', 'HereDoc'],
    ["cat << 'E'\nx\nE\n", 'HereDoc'],
    ['cat <<< x', 'HereString'],
    ['sleep 1 &', 'Background'],
    ['ls & pwd', 'Background'],
    ['f() { ls; }', 'Function'],
    ['function f { ls; }', 'Function'],
    ['(ls)', 'Subshell'],
    ['{ ls; }', 'BraceGroup'],
    ['if true; then ls; fi', 'If'],
    ['while true; do ls; done', 'While'],
    ['for x in a; do ls; done', 'For'],
    ['for ((;;)); do ls; done', 'ArithmeticFor'],
    ['case a in a) ls;; esac', 'Case'],
    ['select x in a; do ls; done', 'Select'],
    ['[[ -v a ]]', 'TestCommand'],
    ['(( a[$(id)] ))', 'ArithmeticCommand'],
    ['{ ls; } > x', 'Redirected'],
    ['coproc ls', 'Coproc'],
    ['! ls', 'Negation'],
    ['time ls', 'Time'],
    ['time -p ! ls', 'Time'],
    ['a=1', 'Assignment'],
    ['a=(1 2)', 'Assignment'],
    ['a[0]=1 ls', 'Assignment'],
    ['CI+=1 ls', 'Assignment'],
    ['CI=1 CI=2 ls', 'Assignment'],
    ['> x', 'Redirect'],
    ['CI=1 > x', 'Assignment'],
    ['ls 3> x', 'Redirect'],
    ['ls {v}> x', 'Redirect'],
    ['ls >&-', 'Redirect'],
    ['ls >& x', 'Redirect'],
    ['ls 2>&3', 'Redirect'],
    ['cat <> x', 'Redirect'],
    ['ls > ""', 'Redirect'],
    ['ls >> 0< a', 'Layout'],
    ['ls >0>a', 'Layout'],
    ['echo 2\\\n>a', 'Layout'],
    ['ls |\\\n&>>a pwd', 'Layout'],
    ['ls |\\\n&>a pwd', 'Layout'],
    ['ls\\\n-l>a 1>&2', 'Program'],
    ['ls > $x', 'Expansion'],
    ['ls > *', 'Glob'],
    ['ls > /etc/passwd', 'Redirect'],
    ['ls > ../x', 'Redirect'],
    ['ls > a/../../x', 'Redirect'],
    ['ls > /workspace/../etc/x', 'Redirect'],
    ['ls > /dev/tcp/127.0.0.1/80', 'Redirect'],
    ['ls > /dev/udp/1/2', 'Redirect'],
    ['cat < /proc/self/environ', 'Redirect'],
    ['PATH=. ls', 'Environment'],
    ['LD_PRELOAD=x ls', 'Environment'],
    ['BASH_ENV=x ls', 'Environment'],
    ['NODE_OPTIONS=--import=./x.mjs node a.mjs', 'Environment'],
    ['GIT_EXTERNAL_DIFF=x ls', 'Environment'],
    ['IFS=x ls', 'Environment'],
    ['./x', 'Program'],
    ['/bin/ls', 'Program'],
    ['bash -c ls', 'Program'],
    ['sh x.sh', 'Program'],
    ['env -S "ls"', 'Program'],
    ['xargs ls', 'Program'],
    ['timeout 1 ls', 'Program'],
    ['nice ls', 'Program'],
    ['git status', 'Program'],
    ['git -c core.fsmonitor=x status', 'Program'],
    ['curl -o x y', 'Program'],
    ['awk 1', 'Program'],
    ['tee x', 'Program'],
    ['dd of=x', 'Program'],
    ['tar --checkpoint-action=exec=x', 'Program'],
    ['"a=1"', 'Program'],
    ["'if' x", 'Program'],
    ['""', 'Program'],
    ["''ls''x", 'Program'],
    ['echo x | node', 'Program'],
    ['echo x | node -', 'Program'],
    ['eval ls', 'Builtin'],
    ['command eval ls', 'Builtin'],
    ['builtin eval ls', 'Builtin'],
    ['exec ls', 'Builtin'],
    ['exec -a x ls', 'Builtin'],
    ['source x', 'Builtin'],
    ['. x', 'Builtin'],
    ['alias ls=x', 'Assignment'],
    ["trap 'ls' EXIT", 'Builtin'],
    ['export PATH', 'Builtin'],
    ['typeset a', 'Builtin'],
    ['printf -v "a[$(id)]" x', 'Expansion'],
    ["printf -v 'a[$(id)]' x", 'Builtin'],
    ["test -v 'a[$(id)]'", 'Builtin'],
    ["read 'a[$(id)]'", 'Builtin'],
    ["let 'a[$(id)]'", 'Builtin'],
    ["mapfile -C 'ls' a", 'Builtin'],
    ["compgen -C 'ls'", 'Builtin'],
    ['hash -p /x ls', 'Builtin'],
    ['shopt -s expand_aliases', 'Builtin'],
    ['set -x', 'Builtin'],
    ['cd x', 'Builtin'],
    ['umask 0', 'Builtin'],
    ['echo eval; eval x', 'Builtin'],
    ['sort --compress-program=x a', 'Option'],
    ['sort --compress-prog x a', 'Option'],
    ['find . -exec rm {} ;', 'BraceExpansion'],
    ["find . -exec rm '{}' ';'", 'Option'],
    ["sed 's/a/b/e' --in-place x", 'Option'],
    ['rg --pre x y', 'Option'],
    ['node -e 1', 'Option'],
    ['python3 -c 1', 'Option'],
    ['make SHELL=x', 'Option'],
    ['echo --help', 'Option'],
    ['ls && rm -rf x --no-preserve-root /', 'Option'],
  ])('%j', (text, node) => {
    expect(meaning(text)).toBe(`ask ${node}`);
  });

  it('says what may happen then: anything in the workspace', () => {
    expect(analyseShell('echo $x')).toMatchObject({ facts: { programs: ['bash'], writes: ['.'] } });
  });
});

describe('CL-3: what cannot be read, or not within the limits, is denied', () => {
  it.each([
    '',
    ' \n\t',
    '# nothing',
    'ls "',
    "ls '",
    'ls `',
    'ls |',
    'ls &&',
    '| ls',
    'ls ;; ls',
    'ls\n;ls',
    '(ls',
    'if true',
    'echo "$(ls |)"',
    'echo $(echo "$(ls ;;)")',
    'ls\0-a',
    'ls\r-a',
    'ls\r\n',
    'ls\v-a',
    'ls\f-a',
    'ls\u0007',
    'ls\u001b[2K',
    'ls\u007f',
    'ls\u0085-a',
    'ls\u00a0-a',
    'ls\u2003-a',
    'ls\u3000-a',
    'ls \u202e x',
    'ls \u2066 x',
    'ls \u200b',
    'ls a\u200db',
    'ls \ufeff',
    'ls \u00ad',
    'ls \u2028',
    'ls \u3164',
    'ls \u2800',
    'ls \ufe0f',
    'ls \u{e0041}',
    'ls \ud800',
  ])('%j', (text) => {
    expect(meaning(text)).toBe('deny');
  });

  it('bytes, nodes, depth, words and commands', () => {
    const { bytes, words, commands } = SHELL_LIMITS;
    expect(meaning(`ls ${'x'.repeat(bytes - 3)}`)).toMatch(/^; /);
    expect(meaning(`ls ${'x'.repeat(bytes - 2)}`)).toBe('deny');
    expect(meaning(`ls ${'ü'.repeat(bytes / 2)}`)).toBe('deny');
    expect(meaning(`ls${' a'.repeat(words - 1)}`)).toMatch(/^; /);
    expect(meaning(`ls${' a'.repeat(words)}`)).toBe('deny');
    expect(meaning(`${'ls;'.repeat(commands)}`)).toMatch(/^; /);
    expect(meaning(`${'ls;'.repeat(commands + 1)}`)).toBe('deny');
    expect(meaning(`${'('.repeat(100)}ls${')'.repeat(100)}`)).toBe('deny');
    expect(meaning(`${'('.repeat(4_000)}ls${')'.repeat(4_000)}`)).toBe('deny');
    expect(meaning(`echo ${'$('.repeat(60)}ls${')'.repeat(60)}`)).toBe('deny');
    expect(meaning(`echo ${'"$x" '.repeat(1_500)}`)).toBe('deny');
    expect(meaning(`echo ${'`'.repeat(4_000)}`)).not.toMatch(/^; /);
    // More than the parser itself can stand.
    expect(meaning('@(){'.repeat(2_000))).toBe('deny');
  });
});
