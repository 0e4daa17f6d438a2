import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import type { FabricClient } from '@toolfabric/client';
import { waitFor } from '@toolfabric/testkit';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { runCommand } from '../stories/command-line.ts';
import { Cluster } from '../support/cluster.ts';

const PAGE = readFileSync(fileURLToPath(new URL('../../docs/runbooks/a-call-is-unknown.md', import.meta.url)), 'utf8');
const COMMANDS = [...PAGE.matchAll(/^ {4}toolfabric (.+)$/gm)].map(([, text = '']) => text);
const UNKNOWN = COMMANDS.filter((text) => text.startsWith('unknown '));

/** As a shell takes it apart: words, and texts in double quotes. */
const words = (text: string): string[] =>
  [...text.matchAll(/"([^"]*)"|(\S+)/g)].map(([, quoted, word]) => quoted ?? word ?? '');

let cluster: Cluster;
let ada: FabricClient;
let taskId: string;
let token: string;

beforeAll(async () => {
  cluster = await Cluster.startWith(['router', 'gateway', 'truth']);
  ada = cluster.client();
  const who = { user: 'grace', rights: ['unknown:resolve'] };
  token = cluster.token(who);
  const grace = cluster.client(who);
  await waitFor(() => grace.listUnknown().catch(() => undefined));
  taskId = (await ada.createTask({ title: 'runbook' })).taskId;
}, 60_000);
afterAll(() => cluster.stop());

const unknownCall = async (identity: string): Promise<string> => {
  const armed = await cluster.arm('truth', 'worker.after-write:kill');
  const { callId } = await ada.startCall({ taskId, tool: 'truth.append_blind', args: { identity } });
  await armed.exited;
  await cluster.ensure('truth');
  await cluster.waitForState(callId, ['unknown']);
  return callId;
};

const run = (text: string, callId: string, more: string[] = []) =>
  runCommand([...words(text).map((word) => (word === 'CALL' ? callId : word)), '--address', cluster.address, ...more], {
    env: { TOOLFABRIC_TOKEN: token },
  });

describe('the runbook about unknown calls', () => {
  it('tells how to list, show and resolve, and how to get the right to', () => {
    const verbs = new Set(COMMANDS.map((text) => text.split(' ').slice(0, 2).join(' ')));
    expect(verbs).toEqual(new Set(['unknown list', 'unknown show', 'unknown resolve', 'token add']));
    expect(UNKNOWN.filter((text) => text.startsWith('unknown resolve'))).toHaveLength(3);
  });

  it('names verbs and flags that there are', async () => {
    for (const text of COMMANDS) {
      const [noun = '', verb = ''] = text.split(' ');
      const help = await runCommand([noun, verb, '--help']);
      expect(help.code, text).toBe(0);
      for (const [flag] of text.matchAll(/--[a-z-]+/g)) expect(help.stdout + help.stderr, text).toContain(flag);
    }
  });

  it('shows what it says that it shows', async () => {
    const callId = await unknownCall('shown');
    const listed = await waitFor(async () => {
      const ended = await run('unknown list', callId);
      return ended.stdout.includes(callId) ? ended : undefined;
    });
    expect(listed).toMatchObject({ code: 0 });
    expect(listed.stdout).toContain('waits');
    const shown = await run('unknown show CALL', callId);
    expect(shown).toMatchObject({ code: 0 });
    expect(shown.stdout).toContain('shown');
    expect(shown.stdout).toContain('nobody can ask');
  });

  const ENDS: Record<string, string> = { happened: 'ok', 'did-not-happen': 'error', leave: 'unknown' };
  it.each(UNKNOWN.filter((text) => text.startsWith('unknown resolve')))('%s', async (text) => {
    const callId = await unknownCall(text.slice(0, 40));
    const ended = await run(text, callId, ['--json']);
    expect(ended.stderr).toBe('');
    expect(ended.code).toBe(0);
    const said = words(text)[3] ?? '';
    expect(JSON.parse(ended.stdout)).toMatchObject({ callId, state: ENDS[said] });
    expect((await cluster.call(callId))?.state).toBe(ENDS[said]);
  });

  it('refuses a resolution without what proves it, and one by who asked', async () => {
    const callId = await unknownCall('refused');
    expect((await run('unknown resolve CALL happened', callId)).code).toBe(2);
    const own = await runCommand(['unknown', 'resolve', callId, 'leave', '--address', cluster.address], {
      env: { TOOLFABRIC_TOKEN: cluster.token() },
    });
    expect(own.code).toBe(3);
  });
});
