import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { FabricError } from '@toolfabric/kernel';
import { afterAll, describe, expect, it } from 'vitest';
import { readConfig } from '../config.ts';
import { VERBS } from '../verbs/index.ts';
import { createOutput } from './output.ts';
import { runCommand } from './run-command.ts';
import type { Verb } from './verb.ts';

const folder = mkdtempSync(join(tmpdir(), 'toolfabric-command-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** One command line, in this process; nothing listens at the address that it would ask. */
const run = async (line: readonly string[], verbs: readonly Verb[] = VERBS, signal = new AbortController().signal) => {
  let said = '';
  const write = (text: string) => {
    said += text;
  };
  const config = readConfig({ TOOLFABRIC_STATE: join(folder, 'nowhere'), PATH: '/usr/bin:/bin' });
  const code = await runCommand(line, verbs, config, signal, createOutput(line.includes('--json'), write, write));
  return { code, said };
};

const NOWHERE = ['--address', '127.0.0.1:1', '--token', 'tf_x', '--timeout', '200'];

describe('runCommand', () => {
  it.each([
    [[], 2, 'usage: toolfabric <verb>'],
    [['nonsense'], 2, 'there is no verb nonsense'],
    [['tools'], 2, 'toolfabric tools list'],
    [['tools', 'nonsense'], 2, 'toolfabric tools list'],
    [['--help'], 0, 'exit codes:'],
    [['help'], 0, 'exit codes:'],
    [['tools', '--help'], 0, 'toolfabric tools list'],
    [['call', '--help'], 0, 'usage: toolfabric call'],
    [['call'], 2, 'an argument is missing'],
    [['get', 'one', 'two'], 2, 'argument 2 is one too many'],
    [['call', 'a.b', '--bogus'], 2, '--bogus'],
    [['call', 'a.b', '--task'], 2, '--task'],
    [['call', 'a.b', '--args', '[1]', ...NOWHERE], 2, 'must be a JSON object'],
    [['call', 'a.b', '--args', '{', ...NOWHERE], 2, 'must be a JSON object'],
    [['call', 'a.b', '--args', '{}', 'path=x', ...NOWHERE], 2, 'not both'],
    [['call', 'a.b', '--workspace', 'mine', ...NOWHERE], 2, 'existing:DIR'],
    [['call', 'a.b', '--workspace', 'clone:', ...NOWHERE], 2, 'existing:DIR'],
    [['call', 'a.b', '--task', 't-1', '--workspace', 'empty', ...NOWHERE], 2, 'has its workspace already'],
    [['call', 'a.b', '--wait', 'long', ...NOWHERE], 2, 'whole number'],
    [['call', 'a.b', '--deadline', '0', ...NOWHERE], 2, 'whole number'],
    [['task', 'end', 't-x', '--outcome', 'great', ...NOWHERE], 2, 'succeeded, failed, abandoned'],
    [['tools', 'publish', 'workspace.read_file', ...NOWHERE], 2, 'name one version'],
    [['tools', 'list', ...NOWHERE], 5, 'unavailable'],
    [['tools', 'list'], 2, 'start one with `toolfabric up`'],
    [['tools', 'list', '--address', '10.0.0.1:7400', '--token', 'x'], 2, 'invalid_request'],
    [['token', 'add', 'x', '--tenant', 'NOT OK', '--user', 'u', '--agent', 'a'], 2, '--tenant'],
    [['token', 'add', 'x', '--tenant', 't', '--user', 'u'], 2, '--agent'],
    [['up', '--exit'], 2, '--exit goes with --story'],
    [['up', '--port', '99999'], 2, 'from 0 to 65535'],
    [['keys'], 2, 'give --out'],
    [['keys', '--out', folder, '--listen', 'here'], 2, 'HOST:PORT'],
    [['provision'], 2, 'TOOLFABRIC_NATS_URL is not set'],
  ])('%j ends with %d', async (line, code, text) => {
    const ended = await run(line);
    expect(ended.said).toContain(text);
    expect(ended.code).toBe(code);
  });

  it('PO-11: repeats no argument that may be a secret which was to come from standard input', async () => {
    const { said, code } = await run(['credentials', 'add', 'user:tracker', 'canary-in-argv', ...NOWHERE]);
    expect(code).toBe(2);
    expect(said).not.toContain('canary');
  });

  it('gives every verb a help that names its flags', async () => {
    for (const { name, flags, summary } of VERBS) {
      const { code, said } = await run([...name.split(' '), '--help']);
      expect(code).toBe(0);
      expect(said).toContain(summary);
      for (const flag of Object.keys(flags)) expect(said).toContain(`--${flag}`);
      expect(Object.keys(flags)).toContain('json');
    }
  });

  const throwing = (thrown: unknown): Verb[] => [
    {
      name: 'x',
      summary: '',
      usage: '',
      positionals: [0, 0],
      flags: { json: { type: 'boolean', help: '' } },
      run: () => Promise.reject(thrown),
    },
  ];

  it.each([
    ['denied_by_policy', 3],
    ['unauthenticated', 3],
    ['no_executor', 5],
    ['overloaded', 5],
    ['invalid_request', 2],
    ['stale_version', 1],
  ] as const)('ends with the code of %s', async (type, code) => {
    expect((await run(['x'], throwing(new FabricError(type, 'why')))).code).toBe(code);
  });

  it('tells an error as JSON, and never the text of one that it does not know', async () => {
    const known = await run(['x', '--json'], throwing(new FabricError('not_found', 'no such call')));
    expect(JSON.parse(known.said)).toMatchObject({ error: { type: 'not_found', message: 'no such call' } });
    const unknown = await run(['x'], throwing(new Error('secret of a caller')));
    expect(unknown.said).not.toContain('secret');
    expect(unknown.code).toBe(1);
  });

  it('ends with 130 when Ctrl-C ended it', async () => {
    expect((await run(['x'], throwing(new Error('aborted')), AbortSignal.abort())).code).toBe(130);
  });
});
