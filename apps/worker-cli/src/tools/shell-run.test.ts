import { existsSync, mkdirSync, readFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { analyseShell, digestOfAnalysis } from '@toolfabric/shell-analysis';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  type CallOptions,
  callTool,
  errorType,
  type Fixture,
  isRoot,
  makeFixture,
  makeWorkspace,
  probeTool,
} from '../testing/driver-fixture.ts';
import { putFile } from '../testing/put-file.ts';
import type { WorkspaceRecord } from '../workspace/workspace-record.ts';

interface Data {
  mode: string;
  exit_code: number | null;
  limit: string | null;
  survivors: number;
  stdout: { text: string };
  stderr: { text: string };
  files_changed: { total: number; files: { path: string }[] };
}

describe('shell.run', () => {
  let fixture: Fixture;
  let workspace: WorkspaceRecord;
  beforeAll(async () => {
    fixture = await makeFixture();
    workspace = await makeWorkspace(fixture);
    await putFile(workspace, 'a.txt', 'pear\napple\nfig\napple\n');
    await putFile(workspace, 'd/e.txt', 'x\n');
    mkdirSync(join(workspace.root, '.git'), { recursive: true });
  });
  afterAll(() => fixture.remove());

  const started: unknown[] = [];
  const shell = (script: string, more: CallOptions = {}, args: Record<string, unknown> = {}) =>
    callTool(
      fixture.driver,
      'shell.run',
      workspace,
      { run: 'run-of-a-test', script, ...args },
      { beginEffect: async (intent) => void started.push(intent), ...more },
    );
  const dataOf = async (script: string, more: CallOptions = {}, args: Record<string, unknown> = {}): Promise<Data> => {
    const outcome = await shell(script, more, args);
    return outcome.data as unknown as Data;
  };
  const approved: CallOptions = { approval: 'the-yes-of-a-person' };
  const fileOf = (path: string): string => readFileSync(join(workspace.root, path), 'utf8');
  const refusal = async (work: Promise<unknown>): Promise<string> =>
    work.then(
      () => 'none',
      (thrown: { type: string; message: string }) => `${thrown.type}: ${thrown.message}`,
    );

  describe('CL-3: a text of plain programs runs as it was analysed, without a shell', () => {
    it('with pipes, lists and redirections, in one sandbox', async () => {
      const data = await dataOf(
        'sort a.txt | uniq -c | sort -rn > counted.txt && cat counted.txt; cat nope 2>/dev/null || echo "none \\" here"',
      );
      expect(data).toMatchObject({ mode: 'plan', exit_code: 0, survivors: 0 });
      expect(data.stdout.text).toBe('      2 apple\n      1 pear\n      1 fig\nnone " here\n');
      expect(data.files_changed.files.map(({ path }) => path)).toEqual(['counted.txt']);
    });

    it('its code is that of the last program, and a file that cannot be opened is a failure', async () => {
      expect(await dataOf('true; false')).toMatchObject({ exit_code: 1 });
      expect(await dataOf('false; true')).toMatchObject({ exit_code: 0 });
      expect(await dataOf('false | true')).toMatchObject({ exit_code: 0 });
      expect(await dataOf('cat < nope')).toMatchObject({
        exit_code: 1,
        stderr: { text: expect.stringMatching(/nope/) },
      });
      const both = await dataOf('cat nope/x > out.txt 2>&1 || cat < out.txt');
      expect(both.stdout.text).toMatch(/nope\/x/);
    });

    it('no word is ever read by a shell', async () => {
      const words = [
        '$(touch pwned)',
        '`touch pwned`',
        '; touch pwned',
        "it's",
        '"',
        '\\',
        '*',
        '~',
        '\n',
        `\${1}`,
        '-n',
      ];
      const quoted = words.map((word) => `'${word.replaceAll("'", "'\\''")}'`).join(' ');
      const data = await dataOf(`echo x ${quoted} | cat`);
      expect(data).toMatchObject({ mode: 'plan', stdout: { text: `x ${words.join(' ')}\n` } });
      expect(await dataOf(`echo x > '$(touch pwned)'`)).toMatchObject({ exit_code: 0 });
      expect(fileOf('$(touch pwned)')).toBe('x\n');
      expect(existsSync(join(workspace.root, 'pwned'))).toBe(false);
    });

    it('a pipe whose reader has ended ends its writer', async () => {
      await putFile(
        workspace,
        'many.mjs',
        "for (;;) require('fs').writeSync(1, 'y\\n'.repeat(1000));".replace('require(', 'process.getBuiltinModule('),
      );
      const data = await dataOf('node many.mjs 2>/dev/null | head -2', { timeoutMs: 20_000 });
      expect(data).toMatchObject({ exit_code: 0, limit: null, stdout: { text: 'y\ny\n' }, survivors: 0 });
    });

    it('runs in a directory, with variables that programs may see and no others', async () => {
      await putFile(
        workspace,
        'env.mjs',
        "console.log(process.env.CI, process.env.NODE_ENV, process.env.RECORD ?? '')",
      );
      expect(await dataOf('cat e.txt', {}, { cwd: 'd' })).toMatchObject({ stdout: { text: 'x\n' } });
      const data = await dataOf("CI=1 NODE_ENV='a b' node env.mjs; node env.mjs");
      expect(data.stdout.text).toBe('1 a b \nundefined undefined \n');
    });

    it('CL-4: at the end of its time nothing of any pipeline is left', async () => {
      const outcome = await shell('sleep 300 | sleep 300 | sleep 300', {}, { timeout_ms: 700 });
      expect(outcome).toMatchObject({
        status: 'error',
        error: { type: 'limit_reached' },
        data: { limit: 'wall_time', survivors: 0, mode: 'plan' },
      });
    });

    it('a program that this executor does not allow is refused, whatever the analysis knows', async () => {
      const less = await makeFixture({ commands: { programs: ['cat'] } });
      const place = await makeWorkspace(less);
      const args = { run: 'run-of-a-test', script: 'echo a | cat' };
      expect(await errorType(callTool(less.driver, 'shell.run', place, args))).toBe('program_not_allowed');
      await less.remove();
    });
  });

  describe('CL-3: a text that only bash can read needs the yes of a person', () => {
    it.each([
      ['touch pwned; eval x', 'Builtin'],
      ['touch $(echo pwned)', 'Expansion'],
      ['touch pwned*', 'Glob'],
      ['touch {pwned,x}', 'BraceExpansion'],
      ['touch pwned &', 'Background'],
      ['(touch pwned)', 'Subshell'],
      ['f() { touch pwned; }; f', 'Function'],
      ['for x in 1; do touch pwned; done', 'For'],
      ['cat <<E > pwned\nx\nE\n', 'HereDoc'],
      ['cat <<< x > pwned', 'HereString'],
      ['coproc touch pwned', 'Coproc'],
      ['! touch pwned', 'Negation'],
      ['time touch pwned', 'Time'],
      ['trap "touch pwned" EXIT', 'Builtin'],
      ["printf -v 'a[$(touch pwned)]' x", 'Builtin'],
      ["test -v 'a[$(touch pwned)]'", 'Builtin'],
      ["[[ -v 'a[$(touch pwned)]' ]]", 'TestCommand'],
      ["(( a['$(touch pwned)'] ))", 'ArithmeticCommand'],
      ['PATH=.:$PATH touch pwned', 'Expansion'],
      ['PATH=. touch pwned', 'Environment'],
      ['LD_PRELOAD=./x.so touch pwned', 'Environment'],
      ['BASH_ENV=./x touch pwned', 'Environment'],
      ['echo x > /proc/self/cwd/pwned', 'Redirect'],
      ['echo x > ../pwned', 'Redirect'],
      ['echo x > /dev/tcp/127.0.0.1/9', 'Redirect'],
      ['bash -c "touch pwned"', 'Program'],
      ['sh x.sh', 'Program'],
      ['xargs touch pwned', 'Program'],
      ['env touch pwned', 'Program'],
      ['timeout 1 touch pwned', 'Program'],
      ['./x', 'Program'],
      ['git -c alias.x="!touch pwned" x', 'Program'],
      ['curl http://x', 'Program'],
      ['echo "touch pwned" | node', 'Program'],
      ["find . -exec touch pwned ';'", 'Option'],
      ['sort --compress-program=./x a.txt', 'Option'],
      ['sed --in-place s/a/b/ a.txt', 'Option'],
      ['node -e 1 pwned', 'Option'],
      ['tee pwned', 'Program'],
    ])('%j is refused without one, and %s is named', async (script, node) => {
      started.length = 0;
      expect(await refusal(shell(script))).toMatch(new RegExp(`^shell_refused: ${node}: `));
      expect(started).toEqual([]);
      expect(existsSync(join(workspace.root, 'pwned'))).toBe(false);
    });

    it('with it, bash reads exactly these bytes', async () => {
      const script =
        'for n in 1 2; do echo "$n ü $0 $#"; done > "l o"; cat "l o"; shopt -q login_shell || echo no login';
      const data = await dataOf(script, approved);
      expect(data).toMatchObject({ mode: 'bash', exit_code: 0, survivors: 0 });
      expect(data.stdout.text).toBe(
        '1 ü bash 0\n2 ü bash 0\nno login\n'.replaceAll(' bash ', ` ${data.stdout.text.split(' ')[2]} `),
      );
      expect(data.stdout.text.split(' ')[2]).toMatch(/bash$/);
      expect(data.files_changed.files.map(({ path }) => path)).toContain('l o');
    });

    it('CL-6: it is confined like every command', async () => {
      const listening = createServer((socket) => socket.end()).listen(0, '127.0.0.1');
      await new Promise((resolve) => listening.once('listening', resolve));
      const { port } = listening.address() as { port: number };
      const script = `id -u; (echo x > /dev/tcp/127.0.0.1/${port}) 2>/dev/null && echo reached; echo x > .git/config || echo kept; ls ${fixture.base} 2>/dev/null; echo x > /usr/x || echo whole; cat | wc -c; env | cut -d= -f1 | sort | tr '\\n' ' '`;
      const data = await dataOf(script, approved);
      listening.close();
      const [user, kept, whole, input, variables = ''] = data.stdout.text.split('\n');
      expect(Number(user)).toBeGreaterThan(0);
      expect([kept, whole, input]).toEqual(['kept', 'whole', '0']);
      expect(variables.trim().split(' ')).toEqual(expect.arrayContaining(['HOME', 'LANG', 'LC_ALL', 'PATH', 'TZ']));
      expect(variables).not.toMatch(/NODE|TOOLFABRIC|VITEST|npm/);
      expect(existsSync(join(workspace.root, '.git/config'))).toBe(false);
    });

    it('CL-4: nothing that it leaves behind goes on', async () => {
      const script = 'set -m; (setsid sleep 300 &) ; nohup sleep 300 >/dev/null 2>&1 & sleep 300 & disown; echo left';
      expect(await dataOf(script, approved)).toMatchObject({ exit_code: 0, survivors: 0, stdout: { text: 'left\n' } });
    });
  });

  describe('CL-3: what is never run, a yes or not', () => {
    it.each(['ls "', 'ls\r\n', 'ls \u202e', 'ls\0', 'ls\u00a0-l', '# nothing', `ls ${'('.repeat(99)}`, 'ls ;; ls'])(
      '%j',
      async (script) => {
        expect(await refusal(shell(script, approved))).toMatch(/^shell_refused: the text is never run: /);
      },
    );

    it('a text that the router understood in another way', async () => {
      const understood = (text: string): string => digestOfAnalysis(analyseShell(text));
      expect(await dataOf('echo a', { analysis: understood('echo a') })).toMatchObject({ mode: 'plan' });
      expect(await refusal(shell('echo a', { ...approved, analysis: understood('echo b') }))).toMatch(
        /^shell_refused: this executor reads the text differently/,
      );
      expect(await refusal(shell('echo $a', { ...approved, analysis: understood('echo a') }))).toMatch(
        /^shell_refused/,
      );
    });
  });

  it('RE-2: its probe tells what became of a run', async () => {
    started.length = 0;
    await shell('echo probed > probed.txt');
    const [intent] = started as [never];
    const args = { run: 'run-of-a-test', script: 'echo probed > probed.txt' };
    const answer = await probeTool(fixture.driver, 'shell.run', workspace, args, intent);
    expect(answer).toMatchObject({ answer: 'found', receipt: { sideEffect: 'confirmed' } });
  });

  it.runIf(isRoot)('RS-2: what was written is confirmed with its hash', async () => {
    const outcome = await shell('echo new > written.txt');
    expect(outcome).toMatchObject({
      status: 'ok',
      sideEffect: 'confirmed',
      evidence: [{ kind: 'file', ref: 'written.txt', detail: expect.stringMatching(/^created: .*sha256:/) }],
    });
  });
});
