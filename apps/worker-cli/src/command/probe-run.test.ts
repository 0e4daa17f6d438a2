import { spawn } from 'node:child_process';
import { appendFileSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Outcome } from '@toolfabric/contract';
import type { Json } from '@toolfabric/kernel';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { callTool, type Fixture, makeFixture, makeWorkspace, probeTool } from '../testing/driver-fixture.ts';
import { processesThatAre, processesWith } from '../testing/host-processes.ts';
import { putFile } from '../testing/put-file.ts';
import { waitUntil } from '../testing/wait-until.ts';
import type { WorkspaceRecord } from '../workspace/workspace-record.ts';
import { RunRecords } from './run-record.ts';

describe('protocol 7: what became of a run', () => {
  let fixture: Fixture;
  let workspace: WorkspaceRecord;
  beforeAll(async () => {
    fixture = await makeFixture();
    workspace = await makeWorkspace(fixture);
    await putFile(workspace, 'a.txt', 'a');
  });
  afterAll(() => fixture.remove());

  const runOnce = async (argv: string[]) => {
    let intent: Json | undefined;
    const beginEffect = async (given: Json) => {
      intent = given;
    };
    const outcome = await callTool(fixture.driver, 'process.run', workspace, { argv }, { beginEffect });
    return { outcome, intent };
  };
  const probe = (intent: Json | undefined, handler = 'process.run') =>
    probeTool(fixture.driver, handler, workspace, handler === 'process.run' ? { argv: ['true'] } : {}, intent);

  it('that ended is found with its whole answer', async () => {
    const { outcome, intent } = await runOnce(['touch', 'made.txt']);
    expect(outcome).toMatchObject({ status: 'ok', sideEffect: 'confirmed' });
    expect(await probe(intent)).toEqual({ answer: 'found', receipt: JSON.parse(JSON.stringify(outcome)) });
  });

  it('that never began may be run again; one of another place, or without an intent, nobody knows', async () => {
    const { intent } = await runOnce(['true']);
    const own = intent as { run: string; place: string };
    const never = { ...own, run: '0123456789abcdefghjkmnpqrs' };
    expect(await probe(never)).toEqual({ answer: 'absent', fence: true });
    expect(await probe({ ...never, place: 'elsewhere' })).toMatchObject({ answer: 'not_visible' });
    expect(await probe(undefined)).toMatchObject({ answer: 'not_visible' });
    expect(await probe({ ...never, at: 5 })).toMatchObject({ answer: 'not_visible' });
  });

  it('that was cut is known by what changed; tests may be run again all the same', async () => {
    const { intent } = await runOnce(['true']);
    const own = intent as { run: string };
    const file = join(fixture.settings.layout.runs, `${workspace.id}.runs`);
    const cut = { ...own, run: 'cut00000000000000000000000' };
    appendFileSync(file, `\n${JSON.stringify({ run: cut.run, at: Date.now(), state: 'begun' })}\n{"run":"torn`);
    expect(await probe(cut)).toEqual({ answer: 'absent', fence: true });
    expect(await probe({ ...cut, network: true })).toMatchObject({ answer: 'not_visible' });
    await putFile(workspace, 'half.txt', 'half');
    expect(await probe(cut)).toMatchObject({ answer: 'not_visible' });
    expect(await probe(cut, 'test.run')).toEqual({ answer: 'absent', fence: true });
    // What it did outside cannot be seen, so it is never made again, unless it had not begun.
    const outside = { ...cut, network: true };
    expect(await probe(outside, 'test.run')).toMatchObject({ answer: 'not_visible' });
    expect(await probe({ ...own, run: '0123456789abcdefghjkmnpqrs', network: true })).toEqual({
      answer: 'absent',
      fence: true,
    });
    expect((await runOnce(['true'])).outcome.status).toBe('ok');
  });

  it('while it goes on, its workspace is locked, and nobody else says anything', async () => {
    const busy = await makeFixture({ lockWaitMs: 200 });
    const place = await makeWorkspace(busy);
    const abort = new AbortController();
    let intent: Json | undefined;
    const beginEffect = async (given: Json) => {
      intent = given;
    };
    const running = callTool(
      busy.driver,
      'process.run',
      place,
      { argv: ['sleep', '20'] },
      { beginEffect, signal: abort.signal },
    );
    await waitUntil(() => intent !== undefined);
    expect(await probeTool(busy.driver, 'process.run', place, { argv: ['true'] }, intent)).toEqual({
      answer: 'not_visible',
      reason: 'workspace_busy',
    });
    abort.abort();
    expect((await running).error?.type).toBe('cancelled');
    await busy.remove();
  });

  it('RE-3: kill -9 of the worker ends the program with it, and the next one is told what was seen', async () => {
    const mark = `7${String(Math.random()).slice(2, 11)}`;
    await putFile(
      workspace,
      'long.mjs',
      `import fs from 'node:fs'; import { spawn } from 'node:child_process'; fs.writeFileSync('begun.txt', 'x'); spawn('setsid', ['-f', 'sleep', '${mark}']); setInterval(() => {}, 1000);`,
    );
    const script = fileURLToPath(new URL('../testing/run-process.ts', import.meta.url));
    const spec = { settings: fixture.settings, workspace, argv: ['node', 'long.mjs'] };
    const worker = spawn(process.execPath, [script, JSON.stringify(spec)], { stdio: ['ignore', 'pipe', 'inherit'] });
    let said = '';
    worker.stdout.on('data', (chunk: Buffer) => (said += chunk.toString()));
    await waitUntil(() => processesThatAre(`sleep ${mark}`).length > 0, 20_000);
    worker.kill('SIGKILL');
    await waitUntil(() => processesWith(`sleep ${mark}`).length === 0);
    const intent = JSON.parse(said.split('\n')[0] ?? '');
    expect(await probe(intent)).toMatchObject({ answer: 'not_visible', reason: expect.stringContaining('cut') });
    expect((await runOnce(['true'])).outcome.status).toBe('ok');
  });

  it('records are bounded: what was forgotten is not taken for something that never was', async () => {
    const records = await RunRecords.open(join(fixture.base, 'few'));
    const outcome: Outcome = { status: 'ok', summary: 'x'.repeat(4_000), sideEffect: 'none', trust: 'trusted' };
    const before = Date.now() - 1;
    for (let step = 0; step < 3_000; step += 1) {
      records.begun('w', `run-${step}`);
      records.ended('w', `run-${step}`, outcome);
    }
    expect(records.find('w', 'run-2999', Date.now())).toMatchObject({ state: 'ended' });
    expect(records.find('w', 'run-0', before)).toBe('forgotten');
    expect(records.find('other', 'run-0', before)).toBeUndefined();
    expect(readdirSync(join(fixture.base, 'few')).sort()).toEqual(['place', 'w.runs', 'w.runs.old']);
    writeFileSync(join(fixture.base, 'few', 'w.runs'), 'no json\n{}\n');
    expect(records.find('w', 'run-1', Date.now())).toBeUndefined();
  });
});
