import { chownSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { FabricClient } from '@toolfabric/client';
import type { CallRecord } from '@toolfabric/contract';
import { digestOf, systemClock, uuidv7 } from '@toolfabric/kernel';
import { callKey, changeRecord } from '@toolfabric/ledger';
import { waitFor } from '@toolfabric/testkit';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ADA, Cluster } from '../support/cluster.ts';

const POLICY = `
@id("shell")
permit (principal, action == Action::"shell.run", resource);

@id("nothing.is.removed")
forbid (principal, action == Action::"shell.run", resource) when { context.programs.contains("rm") };

@id("notes.are.kept")
forbid (principal, action == Action::"shell.run", resource) when { context.writes.contains("notes.txt") };
`;

const ENDED = ['ok', 'error', 'denied', 'expired', 'cancelled', 'unknown'];

describe('shell.run over real processes', () => {
  let cluster: Cluster;
  let ada: FabricClient;
  let people: FabricClient[];
  let taskId: string;
  let project: string;

  const startRouter = async (tenancy: 'single' | 'shared'): Promise<void> => {
    const policy = join(cluster.directory, 'policy');
    const env = { TOOLFABRIC_TENANCY: tenancy, TOOLFABRIC_POLICY_DIR: policy };
    await cluster.spawn('router', '', env).ready;
  };

  beforeAll(async () => {
    cluster = await Cluster.start();
    mkdirSync(join(cluster.directory, 'policy', 'tenants', ADA.tenant), { recursive: true });
    writeFileSync(join(cluster.directory, 'policy', 'tenants', ADA.tenant, 'shell.cedar'), POLICY);
    await startRouter('single');
    await Promise.all([cluster.ensure('gateway'), cluster.ensure('cli')]);
    ada = cluster.client();
    const rights = ['approvals:decide', 'approvals:strong'];
    people = ['linus', 'alan'].map((user) => cluster.client({ user, rights }));
    for (const client of people)
      await waitFor(() => client.listApprovals({ limit: 1 }).catch(() => undefined), { timeoutMs: 10_000 });
    project = join(cluster.workspaceRoot, 'project');
    mkdirSync(project);
    writeFileSync(join(project, 'a.txt'), 'pear\napple\n');
    // Commands run as whoever owns the directory, and never as root.
    if (process.getuid?.() === 0) for (const path of [project, join(project, 'a.txt')]) chownSync(path, 2_000, 2_000);
    taskId = (await ada.createTask({ title: 'shell', workspace: { type: 'existing', path: project } })).taskId;
  }, 60_000);
  afterAll(() => cluster.stop());

  const propose = (script: string, run: string = uuidv7(), requestKey: string = uuidv7()) =>
    ada.call({ taskId, tool: 'shell.run', args: { run, script }, requestKey });
  const grant = async (approvalId: string | undefined): Promise<void> => {
    for (const client of people) await client.grantApproval(approvalId ?? '');
  };
  const settle = (callId: string): Promise<CallRecord> => cluster.waitForState(callId, ENDED);
  const change = (callId: string, changed: (call: CallRecord) => Partial<CallRecord>) =>
    changeRecord(cluster.ledger.calls, callKey(ADA.tenant, callId), (call) => call && { ...call, ...changed(call) }, {
      clock: systemClock,
    });

  it('CL-3, PO-2: a plain text too waits for two people, is shown to them whole, and runs without a shell', async () => {
    const script = 'sort a.txt | head -1 > first.txt && cat first.txt';
    const view = await propose(script);
    expect(view).toMatchObject({ state: 'awaiting_approval', result: { status: 'needs_approval' } });
    const shown = await people[0]?.getApproval(view.approvalId ?? '');
    expect(shown).toMatchObject({ risk: 'privileged', strength: 'strong', whole: true });
    expect(shown?.preview).toContain(script);
    expect(shown?.preview).toContain('runs: without a shell: cat, head, sort; may write first.txt');
    expect(existsSync(join(project, 'first.txt'))).toBe(false);
    await grant(view.approvalId);
    expect(await settle(view.callId)).toMatchObject({
      state: 'ok',
      analysis: expect.stringMatching(/^[0-9a-f]{64}$/),
      result: { sideEffect: 'confirmed', data: { mode: 'plan', exit_code: 0, stdout: { text: 'apple\n' } } },
    });
  });

  it('CL-3: any other text is read by bash, once they have said yes', async () => {
    const view = await propose('for n in 1 2; do echo "$n" >> counted.txt; done; wc -l < counted.txt');
    await grant(view.approvalId);
    expect(await settle(view.callId)).toMatchObject({
      state: 'ok',
      result: { data: { mode: 'bash', stdout: { text: '2\n' }, survivors: 0 } },
    });
  });

  it('RE-1: the same run again is the recorded result, and nothing runs again', async () => {
    const run = uuidv7();
    const first = await propose('echo once >> once.txt', run);
    await grant(first.approvalId);
    await settle(first.callId);
    const again = await propose('echo once >> once.txt', run);
    await grant(again.approvalId);
    expect(await settle(again.callId)).toMatchObject({ state: 'ok', result: { data: { mode: 'plan' } } });
    expect(readFileSync(join(project, 'once.txt'), 'utf8')).toBe('once\n');
    const other = await propose('echo twice >> once.txt', run);
    if (other.approvalId !== undefined) await grant(other.approvalId);
    expect(await settle(other.callId)).toMatchObject({ state: 'error', result: { error: { type: 'conflict' } } });
  });

  it('PO-4: the yes is bound to the exact bytes: one blank more, and nothing runs', async () => {
    const script = 'touch exact.txt $((1))';
    const view = await propose(script);
    await change(view.callId, ({ args }) => {
      const longer = { ...args, script: `${script} ` };
      return { args: longer, argsHash: digestOf(longer) };
    });
    await grant(view.approvalId).catch(() => undefined);
    const end = await settle(view.callId);
    expect(end.state).not.toBe('ok');
    expect(end.result?.sideEffect).toBe('none');
    expect(existsSync(join(project, 'exact.txt'))).toBe(false);
  });

  it('CL-3: an executor that reads the text in another way than the router runs nothing', async () => {
    const view = await propose('touch agreed.txt');
    await change(view.callId, () => ({ analysis: digestOf('another reading') }));
    await grant(view.approvalId).catch(() => undefined);
    const end = await settle(view.callId);
    expect(end.state).not.toBe('ok');
    expect(existsSync(join(project, 'agreed.txt'))).toBe(false);
  });

  it('CL-3: what is never run is refused before anybody is asked', async () => {
    for (const script of ['echo "', 'echo a\r\n', 'echo \u202e a', `echo ${'a '.repeat(700)}`]) {
      const view = await propose(script);
      expect(view).toMatchObject({ result: { status: 'denied', error: { type: 'shell_refused', layer: 'policy' } } });
      expect(view.approvalId).toBeUndefined();
      expect(await cluster.call(view.callId)).toBeUndefined();
    }
  });

  it('PO-1: a policy sees the programs of a text and the files that it writes', async () => {
    const denied = async (script: string) => (await propose(script)).result;
    expect(await denied('ls | sort; rm a.txt')).toMatchObject({
      status: 'denied',
      error: { type: 'denied_by_policy', message: expect.stringContaining('nothing.is.removed') },
    });
    expect(await denied('sort a.txt > ./d/../notes.txt')).toMatchObject({
      status: 'denied',
      error: { message: expect.stringContaining('notes.are.kept') },
    });
    expect(existsSync(join(project, 'a.txt'))).toBe(true);
  });

  it('RT-3: where tenants share the executors, a level that cannot be had refuses', async () => {
    await cluster.killAll('router');
    await startRouter('shared');
    const view = await waitFor(() => propose('touch shared.txt').catch(() => undefined), { timeoutMs: 20_000 });
    expect(view).toMatchObject({ result: { error: { type: 'sandbox_unavailable' } } });
    expect(existsSync(join(project, 'shared.txt'))).toBe(false);
  });
});
