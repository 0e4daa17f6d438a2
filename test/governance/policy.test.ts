import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { waitFor } from '@toolfabric/testkit';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { jsonOf, processesNaming, type Running, runCommand, startCommand } from '../stories/command-line.ts';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const EXAMPLE = join(ROOT, 'docs/examples/policies');
const PAGE = readFileSync(join(ROOT, 'docs/policy.md'), 'utf8');

const folder = mkdtempSync(join(tmpdir(), 'toolfabric-policy-'));
const state = join(folder, 'state');
const policies = join(folder, 'policies');
const rules = 'tenants/local/rules.cedar';
let up: Running;
let taskId = '';

const write = (root: string, path: string, text: string) => {
  mkdirSync(join(root, path, '..'), { recursive: true });
  writeFileSync(join(root, path), text);
};
const offline = (...line: string[]) => runCommand(line, { cwd: folder });
const run = (...line: string[]) => runCommand([...line, '--state', state], { cwd: folder });

describe('docs/policy.md', () => {
  it.each(['workspace.cedar', 'workspace.test.yaml'])('PO-6: shows %s as it is', (name) => {
    expect(PAGE).toContain(readFileSync(join(EXAMPLE, 'tenants/acme', name), 'utf8').trim());
  });

  it('PO-6: its example passes its check and its cases', async () => {
    expect(await offline('policy', 'check', EXAMPLE)).toMatchObject({ code: 0 });
    expect(await offline('policy', 'test', EXAMPLE)).toMatchObject({ code: 0, stdout: '4 of 4 cases passed\n' });
  });

  it('PO-6: a rule that is taken away fails a case, and one that is wrong is told with file and line', async () => {
    const copy = join(folder, 'copy');
    cpSync(EXAMPLE, copy, { recursive: true });
    const file = 'tenants/acme/workspace.cedar';
    const text = readFileSync(join(copy, file), 'utf8');
    write(
      copy,
      file,
      text.replace(
        'forbid (principal, action == Action::"workspace.edit_file"',
        'permit (principal, action == Action::"workspace.edit_file"',
      ),
    );
    const failed = await offline('policy', 'test', copy);
    expect(failed).toMatchObject({ code: 1 });
    expect(failed.stdout).toContain('a lock file is not edited: got allow by tenant.acme.no_lock_files');
    write(copy, file, text.replace('context.args.path', 'context.args.pth'));
    const checked = await offline('policy', 'check', copy);
    expect(checked).toMatchObject({ code: 1 });
    expect(checked.stdout).toContain(`${file}:2: `);
    expect(await offline('policy', 'test', copy)).toMatchObject({ code: 2 });
    write(
      copy,
      file,
      'permit (principal, action in Action::"privileged", resource)\nwhen { context.approval == "none" };\n',
    );
    expect((await offline('policy', 'check', copy)).stdout).toContain(`${file}:1: drops the strong approval`);
    expect(await offline('policy', 'check', join(folder, 'missing'))).toMatchObject({ code: 2 });
  });
});

describe('a fabric with policies', () => {
  beforeAll(async () => {
    mkdirSync(join(folder, 'project'));
    writeFileSync(join(folder, 'project', 'notes.txt'), 'one\n');
    write(
      policies,
      rules,
      '@id("no_search")\nforbid (principal, action == Action::"workspace.search_code", resource);\n',
    );
    up = startCommand(['up', '--state', state, '--port', '0', '--root', folder, '--allow-root-owned'], {
      env: { TOOLFABRIC_POLICY_DIR: policies, TOOLFABRIC_ENVIRONMENT: 'development' },
    });
    await up.said('Ctrl-C stops everything.');
    const task = z.looseObject({ taskId: z.string() });
    const made = await run('task', 'create', '--workspace', `existing:${join(folder, 'project')}`, '--json');
    ({ taskId } = task.parse(jsonOf(made)));
  });
  afterAll(async () => {
    up.child.kill('SIGTERM');
    await up.ended;
    await waitFor(() => processesNaming(folder).length === 0, { what: 'nothing left behind' });
    rmSync(folder, { recursive: true, force: true });
  });

  const Call = z.looseObject({ callId: z.string(), state: z.string() });
  const call = async (tool: string, args: Record<string, unknown>) => {
    const ended = await run('call', tool, '--task', taskId, '--args', JSON.stringify(args), '--json');
    return { ...Call.parse(jsonOf(ended)), code: ended.code };
  };

  it('PO-6: explains what a past decision was made of, and replays it against other policies', async () => {
    const read = await call('workspace.read_file', { path: 'notes.txt' });
    expect(read.state).toBe('ok');
    const explained = await waitFor(
      async () => {
        const told = await run('policy', 'explain', read.callId, '--policies', policies);
        return told.code === 0 ? told : undefined;
      },
      { timeoutMs: 30_000 },
    );
    expect(explained.stdout).toContain('allow by default.allow.read');
    expect(explained.stdout).toContain('workspace.read_file@1.0.0');
    expect(explained.stdout).toMatch(/without a yes +allowed +default\.allow\.read/);

    const same = await waitFor(
      async () => {
        const told = await run('policy', 'replay', policies, '--since', '1h');
        return /0 of [1-9]\d* decisions would flip/.test(told.stdout) ? told : undefined;
      },
      { timeoutMs: 30_000 },
    );
    expect(same.code).toBe(0);

    const candidate = join(folder, 'candidate');
    write(
      candidate,
      rules,
      '@id("no_notes")\nforbid (principal, action == Action::"workspace.read_file", resource)\nwhen { context.args.path like "notes*" };\n',
    );
    const own = await run('policy', 'replay', candidate, '--everybody');
    expect(own).toMatchObject({ code: 3 });
    expect(own.stderr).toContain('policy:replay');
    const made = await run(
      'token',
      'add',
      'lead',
      ...['--tenant', 'local', '--user', 'lee', '--agent', 'ops'],
      '--right',
      'policy:replay',
      '--json',
    );
    const { token } = z.looseObject({ token: z.string() }).parse(jsonOf(made));
    const lead = (...args: string[]) => runCommand([...args, '--state', state], { env: { TOOLFABRIC_TOKEN: token } });
    const everybody = await waitFor(
      async () => {
        const told = await lead('policy', 'replay', candidate, '--everybody');
        return told.stdout.includes(read.callId) ? told : undefined;
      },
      { timeoutMs: 30_000 },
    );
    expect(everybody.code).toBe(1);
    expect((await lead('policy', 'replay', candidate)).stdout).toContain('0 of 0 decisions would flip');
    expect((await lead('policy', 'explain', read.callId, '--everybody')).stdout).toContain(
      'allow by default.allow.read',
    );
    expect((await lead('policy', 'explain', read.callId)).code).not.toBe(0);

    const flipped = await run('policy', 'replay', candidate);
    expect(flipped.code).toBe(1);
    expect(flipped.stdout).toContain(
      `${read.callId}  workspace.read_file  allow by default.allow.read → deny by tenant.local.no_notes`,
    );
  }, 90_000);

  it('PO-6: explains which hosts a person had permitted to its task', async () => {
    const person = ['--tenant', 'local', '--user', 'grace', '--agent', 'console', '--right', 'tasks:widen'];
    const added = await run('token', 'add', 'widener', ...person, '--json');
    const env = { TOOLFABRIC_TOKEN: z.looseObject({ token: z.string() }).parse(jsonOf(added)).token };
    const widen = () => runCommand(['task', 'widen', taskId, '--host', 'api.example', '--state', state], { env });
    await waitFor(async () => (await widen()).code === 0 || undefined, { timeoutMs: 30_000 });
    const read = await call('workspace.read_file', { path: 'notes.txt' });
    const explained = await waitFor(
      async () => {
        const told = await run('policy', 'explain', read.callId);
        return told.code === 0 ? told : undefined;
      },
      { timeoutMs: 30_000 },
    );
    expect(explained.stdout).toContain('permitted to the task api.example');
  }, 90_000);
});
