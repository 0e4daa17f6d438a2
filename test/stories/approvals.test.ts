import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { waitFor } from '@toolfabric/testkit';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { type CommandOptions, type Ended, jsonOf, type Running, runCommand, startCommand } from './command-line.ts';

const folder = mkdtempSync(join(tmpdir(), 'toolfabric-approvals-'));
const state = join(folder, 'state');
const project = join(folder, 'project');
let up: Running;
let grace = '';

const run = (line: readonly string[], options: CommandOptions = {}): Promise<Ended> =>
  runCommand([...line, '--state', state], { cwd: folder, ...options });
const json = async (line: readonly string[]): Promise<unknown> => jsonOf(await run([...line, '--json']));
const asGrace = (line: readonly string[]): Promise<Ended> => run([...line, '--token', grace]);

const Call = z.looseObject({ callId: z.string(), state: z.string(), approvalId: z.string().optional() });
const Task = z.looseObject({ taskId: z.string() });
const argsOf = (path: string, text: string) => [
  `path=${path}`,
  'old_text=',
  `new_text=${text}`,
  'expected_sha256=absent',
];
const write = async (path: string, text: string) =>
  Call.parse(await json(['call', 'workspace.edit_file', '--task', await confirmed(), ...argsOf(path, text)]));
const confirmed = async () =>
  Task.parse(await json(['task', 'create', '--workspace', 'existing:project', '--confirm', 'workspace.edit_file']))
    .taskId;
const textOf = (path: string): string | undefined => {
  const file = join(project, path);
  return existsSync(file) ? readFileSync(file, 'utf8') : undefined;
};

beforeAll(async () => {
  mkdirSync(project);
  up = startCommand(['up', '--state', state, '--port', '0', '--root', folder, '--allow-root-owned']);
  await up.said('Ctrl-C stops everything.');
  const who = ['--tenant', 'local', '--user', 'grace', '--agent', 'toolfabric-cli', '--right', 'approvals:decide'];
  grace = (await run(['token', 'add', 'grace', ...who])).stdout.trim();
  await waitFor(async () => (await asGrace(['approvals', 'list'])).code === 0, { timeoutMs: 10_000 });
}, 90_000);
afterAll(async () => {
  up.child.kill('SIGTERM');
  await up.ended;
  rmSync(folder, { recursive: true, force: true });
});

describe('FD-8: approvals on the command line', () => {
  it('PO-3: a person sees what is asked, says yes, and it is done', async () => {
    const call = await write('yes.txt', 'two');
    const id = call.approvalId ?? '';
    expect(call.state).toBe('awaiting_approval');
    expect((await asGrace(['approvals', 'list'])).stdout).toContain(id);
    const shown = (await asGrace(['approvals', 'show', id])).stdout;
    for (const line of ['through the agent toolfabric-cli, wants to:', '  path: yes.txt', '  new_text: two'])
      expect(shown).toContain(line);
    expect(textOf('yes.txt')).toBeUndefined();
    expect(await asGrace(['approvals', 'grant', id, '--reason', 'fine'])).toMatchObject({ code: 0 });
    expect(await run(['watch', call.callId])).toMatchObject({ code: 0 });
    expect(textOf('yes.txt')).toBe('two');
  }, 90_000);

  it('PO-10: the token that `up` prints approves nothing', async () => {
    const { approvalId = '' } = await write('mine.txt', 'mine');
    const refused = await run(['approvals', 'grant', approvalId]);
    expect(refused).toMatchObject({ code: 3 });
    expect(refused.stderr).toContain('who asked');
    expect(textOf('mine.txt')).toBeUndefined();
    expect(await asGrace(['approvals', 'deny', approvalId])).toMatchObject({ code: 0 });
  }, 90_000);

  it('a person changes what is to be done, and follows what is asked', async () => {
    const following = startCommand(['approvals', 'list', '--follow', '--token', grace, '--state', state], {
      cwd: folder,
    });
    const { approvalId = '', callId } = await write('other.txt', 'wrong');
    await following.said(`approval ${approvalId}  pending`);
    expect(await asGrace(['approvals', 'edit', approvalId, ...argsOf('other.txt', 'right')])).toMatchObject({
      code: 0,
    });
    await following.said(`${approvalId}  denied`);
    following.child.kill('SIGINT');
    await following.ended;
    await waitFor(() => textOf('other.txt') === 'right', { timeoutMs: 10_000 });
    expect((await run(['get', callId])).stdout).toContain('took its place');
  }, 90_000);
});
