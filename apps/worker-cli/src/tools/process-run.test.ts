import { copyFileSync, existsSync, mkdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { compileOutput, loadBuiltinContracts } from '@toolfabric/catalogue';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  type CallOptions,
  callTool,
  errorType,
  type Fixture,
  isRoot,
  makeFixture,
  makeWorkspace,
} from '../testing/driver-fixture.ts';
import { putFile } from '../testing/put-file.ts';
import type { WorkspaceRecord } from '../workspace/workspace-record.ts';

describe('process.run', () => {
  let fixture: Fixture;
  let workspace: WorkspaceRecord;
  beforeAll(async () => {
    fixture = await makeFixture();
    workspace = await makeWorkspace(fixture);
    await putFile(workspace, 'a.txt', 'one\ntwo\n');
    await putFile(
      workspace,
      'say.mjs',
      "console.log(process.argv.slice(2).join('|')); console.error('err'); process.exit(3)",
    );
  });
  afterAll(() => fixture.remove());

  const run = (argv: string[], more: CallOptions = {}, args: Record<string, unknown> = {}) =>
    callTool(fixture.driver, 'process.run', workspace, { argv, ...args }, more);

  it('CL-1: runs a program with its arguments, and says how it ended', async () => {
    const outcome = await run(['cat', 'a.txt']);
    expect(outcome).toMatchObject({
      status: 'ok',
      sideEffect: 'none',
      trust: 'untrusted',
      data: {
        exit_code: 0,
        signal: null,
        limit: null,
        survivors: 0,
        stdout: { text: 'one\ntwo\n', bytes: 8, lines: 2 },
        files_changed: { total: 0, complete: true, files: [] },
      },
    });
  });

  it('RG-8: another exit code than 0 is a reported failure with all of its data', async () => {
    const contract = loadBuiltinContracts().find(({ name }) => name === 'process.run');
    const rules = contract && compileOutput(contract);
    const fine = await run(['true']);
    expect(rules?.(fine)).toEqual(fine);
    const outcome = rules?.(await run(['node', 'say.mjs', 'x', '--eval', 'y z']));
    expect(outcome).toMatchObject({
      status: 'error',
      error: { type: 'reported_failure' },
      data: { exit_code: 3, stdout: { text: 'x|--eval|y z\n' }, stderr: { text: 'err\n' } },
    });
  });

  it('CL-5: says which files changed, with hashes and a diff', async () => {
    await putFile(
      workspace,
      'change.mjs',
      "import fs from 'node:fs'; fs.writeFileSync('a.txt', 'one\\nTWO\\n'); fs.writeFileSync('new.txt', 'n\\n'); fs.mkdirSync('d'); fs.writeFileSync('d/x.bin', Buffer.from([0, 1]));",
    );
    const outcome = await run(['node', 'change.mjs']);
    expect(outcome).toMatchObject({ status: 'ok', sideEffect: 'confirmed' });
    const data = outcome.data as {
      files_changed: { total: number; files: { path: string; change: string }[] };
      diff: string;
    };
    expect(data.files_changed.files.map(({ path, change }) => `${change} ${path}`).sort()).toEqual([
      'created d/x.bin',
      'created new.txt',
      'modified a.txt',
    ]);
    expect(data.diff).toContain('-two\n+TWO\n');
    expect(data.diff).not.toContain('x.bin');
    expect(outcome.evidence?.length).toBe(3);
    const removed = await run(['rm', '-r', 'd', 'new.txt']);
    expect(removed.data).toMatchObject({ files_changed: { total: 2 }, diff: expect.stringContaining('+++ /dev/null') });
  });

  it('CL-1: refuses programs that are not on the list, and options that make a program another one', async () => {
    for (const argv of [
      ['bash', '-c', 'true'],
      ['git', 'status'],
      ['node', '-e', '1'],
      ['find', '.', '-exec', 'true', ';'],
      ['/bin/cat', 'a.txt'],
    ]) {
      expect(await errorType(run(argv))).toBe('program_not_allowed');
    }
    expect(existsSync(join(workspace.root, 'never'))).toBe(false);
  });

  it('CL-4: a timeout ends everything, and says so', async () => {
    const outcome = await run(['sleep', '30'], {}, { timeout_ms: 300 });
    expect(outcome).toMatchObject({
      status: 'error',
      error: { type: 'limit_reached' },
      data: { limit: 'wall_time', survivors: 0 },
    });
  });

  it('CL-1: programs of a toolchain come from its directory, which is seen read-only', async () => {
    const toolchain = join(fixture.base, 'toolchain');
    mkdirSync(join(toolchain, 'bin'), { recursive: true });
    copyFileSync('/bin/echo', join(toolchain, 'bin/jq'));
    const own = await makeFixture({ commands: { toolchains: [toolchain] } });
    const place = await makeWorkspace(own);
    const outcome = await callTool(own.driver, 'process.run', place, { argv: ['jq', '-n', 'x'] });
    expect(outcome.data).toMatchObject({ stdout: { text: '--null-input -- x\n' } });
    await putFile(
      place,
      'w.mjs',
      `import fs from 'node:fs'; try { fs.writeFileSync('${toolchain}/bin/x', ''); console.log('wrote'); } catch { console.log(process.env.PATH); }`,
    );
    const written = await callTool(own.driver, 'process.run', place, { argv: ['node', 'w.mjs'] });
    expect(written.data).toMatchObject({ stdout: { text: `${toolchain}/bin:/usr/local/bin:/usr/bin:/bin\n` } });
    const narrow = await makeFixture({ commands: { programs: ['true'] } });
    expect(
      await errorType(callTool(narrow.driver, 'process.run', await makeWorkspace(narrow), { argv: ['cat', 'x'] })),
    ).toBe('program_not_allowed');
    await narrow.remove();
    await own.remove();
  });

  if (isRoot) {
    it('CL-6: is not root outside either', async () => {
      await run(['touch', 'mine']);
      expect(statSync(join(workspace.root, 'mine')).uid).toBe(workspace.child?.uid);
      expect(readFileSync(join(workspace.root, 'mine'), 'utf8')).toBe('');
    });
  }
});
