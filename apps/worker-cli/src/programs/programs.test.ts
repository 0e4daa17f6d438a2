import type { FabricError } from '@toolfabric/kernel';
import { checkArguments, parseOptions } from '@toolfabric/shell-analysis';
import { describe, expect, it } from 'vitest';
import { KNOWN_PROGRAMS, resolveProgram } from './resolve-program.ts';

const allowed = { names: KNOWN_PROGRAMS, directories: ['/usr/local/bin', '/usr/bin', '/bin'] };

const end = (argv: string[]): string => {
  try {
    return resolveProgram(allowed, argv).command.slice(1).join(' ');
  } catch (thrown) {
    const { type, message } = thrown as { type: string; message: string };
    if (message.endsWith('is not installed on this executor')) return 'not installed';
    return `${type}: ${message}`;
  }
};

describe('CL-1: programs that would be a shell are not on the list', () => {
  it.each([
    'sh',
    'bash',
    'dash',
    'zsh',
    'git',
    'env',
    'xargs',
    'timeout',
    'nice',
    'nohup',
    'setsid',
    'tar',
    'awk',
    'gawk',
    'perl',
    'ssh',
    'curl',
    'wget',
    'dd',
    'tee',
    'split',
    'vim',
    'ed',
    'man',
    'less',
    'npx',
    'sudo',
    'su',
    'flock',
    'bwrap',
    'busybox',
    'script',
    'watch',
    'parallel',
    'ruby',
    'php',
    'docker',
    'strace',
    'gdb',
    'ln',
    'mount',
    '/bin/sh',
    './run.sh',
    '../x',
    'node_modules/.bin/vitest',
    '',
    ' ',
    'constructor',
    '__proto__',
    'toString',
    'NODE',
  ])('%j', (name) => {
    expect(end([name, 'x'])).toMatch(/^program_not_allowed: the program .* is not on the list/);
  });
});

describe('CL-1: an option that runs something else, or that is not known, is refused by name', () => {
  it.each([
    [['node', '-e', 'code'], '-e'],
    [['node', '--eval=code'], '--eval'],
    [['node', '-p', '1'], '-p'],
    [['node', '-pe', '1'], '-p'],
    [['node', '-r', './x.js', 'a.js'], '-r'],
    [['node', '--require=./x.js', 'a.js'], '--require'],
    [['node', '--import', './x.js', 'a.js'], '--import'],
    [['node', '--loader', './x.js'], '--loader'],
    [['node', '--experimental-loader=x'], '--experimental-loader'],
    [['node', '--env-file=.env', 'a.js'], '--env-file'],
    [['node', '--inspect=0.0.0.0', 'a.js'], '--inspect'],
    [['node', '--run', 'x'], '--run'],
    [['node', '--watch', 'a.js'], '--watch'],
    [['node', '--eva', 'x'], '--eva'],
    [['node', '--test-reporter=./evil.mjs', '--test'], '--test-reporter'],
    [['node', '--test-reporter-destination=/tmp/x', '--test'], '--test-reporter-destination'],
    [['node', '--', '-e', 'code'], '-e'],
    [['node', '-i'], '-i'],
    [['python3', '-c', 'code'], '-c'],
    [['python3', '-ccode'], '-c'],
    [['python3', '-Bc', 'code'], '-c'],
    [['python3', '-m', 'http.server'], '-m'],
    [['python3', '-W', 'error::x.y', 'a.py'], '-W'],
    [['python3', '-X', 'importtime', 'a.py'], '-X'],
    [['python3', '-'], '-'],
    [['python3'], ''],
    [['python3', '--', '-c', 'code'], '-c'],
    [['pytest', '-p', 'evil'], '-p'],
    [['pytest', '-pevil'], '-p'],
    [['pytest', '-c', 'evil.ini'], '-c'],
    [['pytest', '-o', 'addopts=-p evil'], '-o'],
    [['pytest', '--pdb'], '--pdb'],
    [['pytest', '--rootdir=/'], '--rootdir'],
    [['pytest', '--', '-pevil'], '-pevil'],
    [['pytest', '--junitxml=/tmp/x'], '--junitxml'],
    [['find', '.', '-exec', 'rm', '{}', ';'], '-exec'],
    [['find', '.', '-execdir', 'rm', '{}', '+'], '-execdir'],
    [['find', '.', '-ok', 'rm', '{}', ';'], '-ok'],
    [['find', '.', '-delete'], '-delete'],
    [['find', '.', '-fprint', 'x'], '-fprint'],
    [['find', '.', '-fprintf', 'x', 'y'], '-fprintf'],
    [['find', '.', '-fls', 'x'], '-fls'],
    [['find', '.', '-name'], '-name'],
    [['find', '-files0-from', 'x'], '-files0-from'],
    [['sort', '--compress-program=evil', 'a'], '--compress-program'],
    [['sort', '--compress-prog', 'evil', 'a'], '--compress-prog'],
    [['sort', '-o', 'a', 'a'], '-o'],
    [['sort', '-noa', 'a'], '-o'],
    [['sort', '-T', '/', 'a'], '-T'],
    [['sort', '--files0-from=-'], '--files0-from'],
    [['sed', '-i', 's/a/b/', 'x'], '-i'],
    [['sed', '-i.bak', 's/a/b/', 'x'], '-i'],
    [['sed', '-ni', 's/a/b/', 'x'], '-i'],
    [['sed', '--in-place', 's/a/b/', 'x'], '--in-place'],
    [['rg', '--pre', 'evil', 'x'], '--pre'],
    [['rg', '--pre=evil', 'x'], '--pre'],
    [['rg', '--hostname-bin=evil', 'x'], '--hostname-bin'],
    [['rg', '-z', 'x'], '-z'],
    [['rg', '--search-zip', 'x'], '--search-zip'],
    [['grep', '--binary-files=text', 'x', 'y'], '--binary-files'],
    [['make', '--eval=x:;evil'], '--eval'],
    [['make', '-f', 'x'], '-f'],
    [['make', '-C', '/'], '-C'],
    [['make', 'SHELL=/bin/evil'], 'SHELL=/bin/evil'],
    [['make', '--', 'CC=evil'], 'CC=evil'],
    [['make', '-e'], '-e'],
    [['make', '--', '--eval=x'], '--eval=x'],
    [['uniq', 'a', 'b'], 'b'],
    [['date', '-s', '2020'], '-s'],
    [['date', '1010'], '1010'],
    [['chmod', 'u+s', 'a'], 'u+s'],
    [['chmod', '4755', 'a'], '4755'],
    [['chmod', '--reference=/usr/bin/su', 'a'], '--reference'],
    [['diff', '-l', 'a', 'b'], '-l'],
    [['diff', '--paginate', 'a', 'b'], '--paginate'],
    [['npm', 'exec', 'evil'], 'exec'],
    [['npm', 'install'], 'install'],
    [['npm', '--script-shell=evil', 'test'], '--script-shell=evil'],
    [['npm', 'test', '--script-shell=evil'], '--script-shell'],
    [['npm', 'run', '--prefix', '/', 'x'], '--prefix'],
    [['npm', 'run', '-c', 'x'], '-c'],
    [['go', 'test', '-exec', 'evil', './...'], '-exec'],
    [['go', 'test', '--exec=evil', './...'], '-exec'],
    [['go', 'build', '-toolexec=evil'], '-toolexec'],
    [['go', 'build', '-o', '/usr/bin/x'], '-o'],
    [['go', 'build', '-ldflags=-extld=evil'], '-ldflags'],
    [['go', 'generate'], 'generate'],
    [['go', 'env', '-w', 'GOFLAGS=x'], '-w'],
    [['cargo', '--config', 'x', 'test'], '--config'],
    [['cargo', 'test', '--config', 'x'], '--config'],
    [['cargo', '+nightly', 'test'], '+nightly'],
    [['cargo', 'install', 'x'], 'install'],
    [['cargo', 'test', '-Zunstable'], '-Z'],
    [['head', '--bytes'], '--bytes'],
    [['cp', '--target-dir', 'x', 'y', '--evil'], '--evil'],
    [['cat', '-An\u0007', 'x'], '-\u0007'],
  ])('%j', (argv, named) => {
    const said = end(argv);
    expect(said).toMatch(/^program_not_allowed: /);
    expect(said).toContain(named === '' ? argv[0] : JSON.stringify(named).slice(1, -1).slice(0, 30));
  });

  it('and the hint says what may stand there, for find as for programs with options', () => {
    const hintOf = (argv: readonly string[]): string => {
      try {
        resolveProgram(allowed, argv);
        return '';
      } catch (thrown) {
        return (thrown as FabricError).details.hint ?? '';
      }
    };
    expect(hintOf(['find', '.', '-delete'])).toMatch(/^Allowed options of find: .*-name .*-print/);
    expect(hintOf(['find', '.', '-delete'])).not.toMatch(/-exec( |$)|-delete/);
    expect(hintOf(['sort', '-o', 'a'])).toContain('Allowed options of sort: ');
  });

  it('arguments that no program can be given', () => {
    expect(end(['cat', 'a\0b'])).toMatch(/^program_not_allowed/);
    expect(end(['cat', '\ud800'])).toMatch(/^program_not_allowed/);
  });
});

describe('CL-1: what is passed on is written out in full, so that the program reads what was read here', () => {
  it.each([
    [['cat', 'a', '-n', 'b'], '--number -- a b'],
    [['head', '-20', 'a'], '--lines=20 -- a'],
    [['head', '-n5', 'a'], '--lines=5 -- a'],
    [['head', '-n', '-5', 'a'], '--lines=-5 -- a'],
    [['sort', '--num', '--rev', 'a'], '--numeric-sort --reverse -- a'],
    [['sort', '-k2,2nr', '-t,', 'a'], '--key=2,2nr --field-separator=, -- a'],
    [['grep', '-rn', '-e', '-x', '.'], '--recursive --line-number --regexp=-x -- .'],
    [['rm', '-rf', '--', '-odd-name'], '--recursive --force -- -odd-name'],
    [['sed', '-n', '1,5p', 'a'], '--sandbox --silent -- 1,5p a'],
    [['rg', 'x', '-g', '*.ts'], '--no-config --glob=*.ts -- x'],
    [['find', '.', '-name', '-exec', '-print'], '. -name -exec -print'],
    [
      ['find', '-L', 'a', 'b', '(', '-type', 'f', '-o', '-type', 'd', ')', '-maxdepth', '2'],
      '-L a b ( -type f -o -type d ) -maxdepth 2',
    ],
    [
      ['node', '--test', '--test-name-pattern', 'a b', 'x.mjs', '-e', 'kept'],
      '--test --test-name-pattern=a b x.mjs -e kept',
    ],
    [['node', 'x.mjs', '--eval', 'kept'], 'x.mjs --eval kept'],
    [['make', '-kj4', 'all', 'test-unit'], '--keep-going --jobs=4 -- all test-unit'],
    [['diff', '-u', 'a', 'b'], '-u -- a b'],
    [['date', '-u', '+%F'], '--utc +%F'],
    [['echo', '-n', 'x', '--y'], '-n x --y'],
    [['true'], ''],
    [['npm', 'run', 'build', '-s', '--', '--watch', '-e'], 'run --silent build -- --watch -e'],
  ])('%j', (argv, expected) => {
    expect(['not installed', expected]).toContain(end(argv));
  });

  it('values with a dash cannot be taken for options: they are attached', () => {
    const rule = { style: 'gnu' as const, options: parseOptions('-k= -m=? -q'), noSeparator: true };
    expect(checkArguments(rule, ['-k', '-pevil', '-q'])).toEqual({ args: ['-k-pevil', '-q'] });
    expect(checkArguments(rule, ['-mx', '-m', 'file'])).toEqual({ args: ['-mx', '-m', 'file'] });
    expect(checkArguments(rule, ['-k'])).toMatchObject({ refused: { argument: '-k' } });
    expect(checkArguments(rule, ['--', '-q'])).toMatchObject({ refused: { argument: '-q' } });
  });

  it('an abbreviation counts only where it stands for one option', () => {
    const rule = { style: 'gnu' as const, options: parseOptions('--lines= --line-length= -l,--list') };
    expect(checkArguments(rule, ['--line-l=3'])).toEqual({ args: ['--line-length=3'] });
    expect(checkArguments(rule, ['--line'])).toMatchObject({
      refused: { argument: '--line', why: expect.stringContaining('more than one') },
    });
    expect(checkArguments(rule, ['--list=x'])).toMatchObject({ refused: { argument: '--list' } });
  });

  it('a program is taken from the configured directories only, by its absolute path', () => {
    expect(resolveProgram(allowed, ['cat', 'a']).command[0]).toMatch(/^\/(usr\/)?(local\/)?bin\/cat$/);
    expect(() => resolveProgram({ names: ['cat'], directories: ['/nonexistent'] }, ['cat'])).toThrow(/not installed/);
    expect(() => resolveProgram({ names: ['ls'], directories: ['/bin'] }, ['cat'])).toThrow(/not on the list/);
  });
});
