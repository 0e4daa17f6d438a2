import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { waitFor } from '@toolfabric/testkit';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import {
  type CommandOptions,
  type Ended,
  jsonOf,
  processesNaming,
  type Running,
  runCommand,
  startCommand,
} from './command-line.ts';

const folder = mkdtempSync(join(tmpdir(), 'toolfabric-cli-'));
const state = join(folder, 'state');
const project = join(folder, 'project');
let up: Running;

/** One command against the fabric of these tests. */
const run = (line: readonly string[], options: CommandOptions = {}): Promise<Ended> =>
  runCommand([...line, '--state', state], { cwd: folder, ...options });
const json = async (line: readonly string[], options: CommandOptions = {}): Promise<unknown> =>
  jsonOf(await run([...line, '--json'], options));

const Task = z.looseObject({ taskId: z.string(), state: z.string(), outcome: z.string().optional() });
const Call = z.looseObject({
  callId: z.string(),
  state: z.string(),
  result: z
    .looseObject({
      data: z.unknown().optional(),
      error: z
        .looseObject({ type: z.string(), fields: z.array(z.looseObject({ field: z.string() })).optional() })
        .optional(),
    })
    .optional(),
});
const Failure = z.looseObject({ error: z.looseObject({ type: z.string(), message: z.string() }) });
const newTask = async () => Task.parse(await json(['task', 'create', '--workspace', 'existing:project'])).taskId;

beforeAll(async () => {
  mkdirSync(project);
  writeFileSync(join(project, 'notes.txt'), 'one\ntwo\n404\n');
  up = startCommand(['up', '--state', state, '--port', '0', '--root', folder, '--allow-root-owned']);
  await up.said('Ctrl-C stops everything.');
});

afterAll(async () => {
  up.child.kill('SIGTERM');
  await up.ended;
  await waitFor(() => processesNaming(folder).length === 0, { what: 'nothing left behind' });
  rmSync(folder, { recursive: true, force: true });
});

describe('toolfabric tools', () => {
  it('FD-8: lists and shows what a model sees', async () => {
    const { tools } = z
      .object({ tools: z.array(z.looseObject({ name: z.string() })) })
      .loose()
      .parse(await json(['tools', 'list']));
    expect(tools.map(({ name }) => name).sort()).toEqual([
      'git.branch',
      'git.commit',
      'git.diff',
      'git.push',
      'git.status',
      'process.run',
      'test.run',
      'url.fetch',
      'web.search',
      'workspace.edit_file',
      'workspace.list_files',
      'workspace.read_file',
      'workspace.search_code',
    ]);
    const { model } = z
      .looseObject({ model: z.looseObject({}) })
      .parse(await json(['tools', 'show', 'workspace.read_file']));
    expect(Object.keys(model).sort()).toEqual(['capability', 'input', 'name', 'output', 'version']);
  });

  it('RG-3: moves a contract through its life cycle, and refuses what is wrong with exit codes', async () => {
    writeFileSync(join(folder, 'peek.yaml'), CONTRACT);
    expect((await run(['tools', 'put-draft', 'peek.yaml'])).stdout).toContain('draft');
    expect((await run(['tools', 'publish', 'workspace.peek@1.0.0'])).stdout).toContain('published');
    const task = await newTask();
    expect((await run(['call', 'workspace.peek', '--task', task, 'path=notes.txt'])).code).toBe(0);
    expect((await run(['tools', 'retire', 'workspace.peek@1.0.0'])).code).toBe(0);
    const retired = await run(['call', 'workspace.peek@1.0.0', '--task', task, '--args', '{"path":"notes.txt"}']);
    expect(retired.stdout + retired.stderr).toContain('tool_retired');
    expect(retired.code).toBe(1);
    expect((await run(['tools', 'publish', 'workspace.peek'])).code).toBe(2);
    expect((await run(['tools', 'put-draft', '-'], { input: 'name: nonsense' })).code).toBe(1);
  });
});

describe('toolfabric call', () => {
  it('FD-6: reads pairs by the schema of the tool, JSON from a file, and JSON from standard input', async () => {
    const task = await newTask();
    writeFileSync(join(folder, 'args.json'), JSON.stringify({ path: 'notes.txt', start_line: 2, end_line: 2 }));
    const text = z.looseObject({ text: z.string() });
    const textOf = async (line: string[], options?: CommandOptions) =>
      text.parse(Call.parse(await json(['call', 'workspace.read_file', '--task', task, ...line], options)).result?.data)
        .text;
    expect(await textOf(['path=notes.txt', 'start_line=2', 'end_line:=2'])).toBe('two\n');
    expect(await textOf(['--args', '@args.json'])).toBe('two\n');
    expect(await textOf(['--args', '-'], { input: '{"path":"notes.txt","start_line":1,"end_line":1}' })).toBe('one\n');
    const search = await run(['call', 'workspace.search_code', '--task', task, 'pattern=404']);
    expect(search.stdout).toContain('notes.txt');
    expect(search.code).toBe(0);
  });

  it('RT-4: shows what is wrong with each field, with exit code 1', async () => {
    const task = await newTask();
    const { code, stdout } = await run([
      'call',
      'workspace.read_file',
      '--task',
      task,
      'path=notes.txt',
      'start_line=two',
    ]);
    expect(stdout).toContain('invalid_arguments');
    expect(stdout).toContain('/start_line: expected');
    expect(code).toBe(1);
  });

  it('makes a task where none is given, and says which', async () => {
    const { code, stderr, stdout } = await run(['call', 'workspace.list_files', '--workspace', 'existing:project']);
    expect(stderr).toMatch(/^task t-[0-9a-z]{26} /);
    expect(stdout).toContain('notes.txt');
    expect(code).toBe(0);
  });

  it('gives a handle with --start, which get, watch and cancel take', async () => {
    const task = await newTask();
    const started = Call.parse(await json(['call', 'workspace.list_files', '--task', task, '--start']));
    const watched = await run(['watch', started.callId, '--json']);
    const last = watched.stdout.trim().split('\n').at(-1) ?? '';
    expect(z.looseObject({ call: Call }).parse(JSON.parse(last)).call.state).toBe('ok');
    expect(watched.code).toBe(0);
    expect(Call.parse(await json(['get', started.callId])).state).toBe('ok');
    expect(Call.parse(await json(['cancel', started.callId])).state).toBe('ok');
  });

  it('gives the same call for the same request key', async () => {
    const task = await newTask();
    const key = `${Date.now()
      .toString(16)
      .padStart(12, '0')
      .replace(/^(.{8})/, '$1-')}-7000-8000-000000000001`;
    const line = ['call', 'workspace.list_files', '--task', task, '--request-key', key];
    const [first, second] = [Call.parse(await json(line)), Call.parse(await json(line))];
    expect(second.callId).toBe(first.callId);
  });

  it('never lets a tool speak to the terminal', async () => {
    writeFileSync(join(project, 'evil.txt'), '\u001b]0;owned\u0007\u202egnp.exe\n');
    const { stdout } = await run(['call', 'workspace.read_file', '--task', await newTask(), 'path=evil.txt']);
    expect(stdout).toContain('gnp.exe');
    // biome-ignore lint/suspicious/noControlCharactersInRegex: these are what must not come through.
    expect(stdout).not.toMatch(/[\u001b\u0007\u202e]/);
  });
});

describe('toolfabric task', () => {
  it('creates, shows and ends one; nothing can be called in it afterwards', async () => {
    const task = await newTask();
    expect(Task.parse(await json(['task', 'show', task])).state).toBe('open');
    expect(Task.parse(await json(['task', 'end', task, '--outcome', 'failed']))).toMatchObject({
      state: 'ended',
      outcome: 'failed',
    });
    const late = Call.parse(await json(['call', 'workspace.list_files', '--task', task]));
    expect(late.result?.error?.type).toBe('task_ended');
  });
});

describe('toolfabric token', () => {
  it('RS-4, OP-2: makes one for another actor, who sees nothing of this one, and takes it away again', async () => {
    const mine = Call.parse(await json(['call', 'workspace.list_files', '--task', await newTask()])).callId;
    const who = ['--tenant', 'acme', '--user', 'ada', '--agent', 'ci'];
    const { token } = z
      .object({ id: z.string(), token: z.string() })
      .parse(await json(['token', 'add', 'other', ...who]));
    const env = { TOOLFABRIC_TOKEN: token };
    await waitFor(async () => (await run(['tools', 'list'], { env })).code === 0, { what: 'the new token' });
    const foreign = await run(['get', mine, '--json'], { env });
    expect(Failure.parse(jsonOf(foreign)).error.type).toBe('not_found');
    expect(foreign.code).toBe(1);
    expect((await run(['tools', 'publish', 'workspace.read_file@1.0.0'], { env })).code).toBe(3);
    expect((await run(['token', 'list'])).stdout).not.toContain(token);
    await run(['token', 'revoke', 'other']);
    await waitFor(async () => (await run(['tools', 'list'], { env })).code === 3, { what: 'the end of the token' });
  });
});

describe('what goes wrong', () => {
  it.each([
    [['call', 'workspace.read_file', 'x', '--workspace', 'empty'], 2, 'key=value'],
    [['call', 'workspace.nothing', '--workspace', 'empty'], 1, 'unknown_tool'],
    [['get', 'nonsense'], 2, 'invalid_request'],
    [['tools', 'list', '--token', 'tf_wrong'], 3, 'unauthenticated'],
    [['tools', 'list', '--address', '127.0.0.1:1', '--timeout', '300'], 5, 'unavailable'],
    [['token', 'revoke', 'nobody'], 1, 'there is no token nobody'],
  ])('%j ends with %d', async (line, code, text) => {
    const ended = await run(line);
    expect(ended.stdout + ended.stderr).toContain(text);
    expect(ended.code).toBe(code);
  });

  it('tells errors as JSON too', async () => {
    const ended = await run(['tools', 'show', 'workspace.nothing', '--json']);
    expect(Failure.parse(jsonOf(ended)).error.type).toBe('unknown_tool');
  });
});

const CONTRACT = `
name: workspace.peek
version: 1.0.0
toolset: workspace
capability:
  intent: files.peek
  description: Looks at a file of the workspace, under a name of its own, to show how a contract is published.
  use_when: [You want to see a contract go through its life cycle.]
  not_for: ["Anything else: use workspace.read_file."]
  examples: [{ arguments: { path: notes.txt } }]
input:
  type: object
  additionalProperties: false
  required: [path]
  properties:
    path: { type: string, minLength: 1, maxLength: 4096, description: Path of a file. }
execution: { adapter: cli, handler: workspace.read_file, isolation: process, timeout_ms: 20000 }
output: { format: json, budget_bytes: 32768 }
governance: { risk: read, idempotent: true, claimless: true }
`;
