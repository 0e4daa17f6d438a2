import { type ChildProcess, spawn } from 'node:child_process';
import { createHmac } from 'node:crypto';
import { once } from 'node:events';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { freePort } from '@toolfabric/bus-nats/testing';
import { waitFor } from '@toolfabric/testkit';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ApprovalCluster } from './support/approval-cluster.ts';

const SINK = fileURLToPath(new URL('support/webhook-sink.ts', import.meta.url));
const SECRET = 'a secret of the installation, and of whoever receives';

let world: ApprovalCluster;
let sink: ChildProcess | undefined;
let port = 0;

const file = () => join(world.cluster.directory, 'notices.log');
const listen = async (status = 204): Promise<void> => {
  sink = spawn(process.execPath, [SINK, String(port), file(), String(status)], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  if (sink.stdout) await once(sink.stdout, 'data');
};
const kill = async (): Promise<void> => {
  if (sink === undefined) return;
  const gone = once(sink, 'exit');
  sink.kill('SIGKILL');
  await gone;
  sink = undefined;
};

interface Received {
  readonly url: string;
  readonly signature: string;
  readonly body: string;
}
const received = (): Received[] =>
  existsSync(file())
    ? readFileSync(file(), 'utf8')
        .split('\n')
        .filter((line) => line !== '')
        .map((line) => JSON.parse(line) as Received)
    : [];
const ids = (): string[] => received().map(({ body }) => (JSON.parse(body) as { id: string }).id);
const told = (id: string) => waitFor(() => ids().includes(id), { timeoutMs: 20_000, what: `${id} to be told` });

const env = () => ({
  TOOLFABRIC_APPROVAL_WEBHOOK_URL: `http://127.0.0.1:${port}/approvals`,
  TOOLFABRIC_APPROVAL_WEBHOOK_SECRET_FILE: join(world.cluster.directory, 'webhook.key'),
});

beforeAll(async () => {
  world = await ApprovalCluster.start();
  port = await freePort();
  writeFileSync(join(world.cluster.directory, 'webhook.key'), SECRET);
  await world.cluster.killAll('router');
  await world.cluster.spawn('router', '', env()).ready;
}, 60_000);
afterAll(async () => {
  await kill();
  await world.stop();
});

describe('the webhook of approvals', () => {
  it('is told of question and answer, signed, without the preview or the arguments', async () => {
    await listen();
    const { approvalId, callId } = await world.ask('hook/1', { body: 'a body that stays inside' });
    await told(`${approvalId}.pending`);
    await world.grace.grantApproval(approvalId);
    await told(`${approvalId}.consumed`);
    const notice = received().find(({ body }) => body.includes(`${approvalId}.pending`));
    const [, t = '', v1 = ''] = /^t=(\d+),v1=([0-9a-f]{64})$/.exec(notice?.signature ?? '') ?? [];
    expect(v1).toBe(createHmac('sha256', SECRET).update(`${t}.${notice?.body}`).digest('hex'));
    expect(Math.abs(Date.now() - Number(t))).toBeLessThan(60_000);
    expect(JSON.parse(notice?.body ?? '{}')).toMatchObject({
      approvalId,
      callId,
      state: 'pending',
      tenant: 'acme',
      user: 'ada',
      risk: 'external_write',
      resource: 'note:repo:hook/1',
    });
    expect(
      received()
        .map(({ body }) => body)
        .join(),
    ).not.toContain('a body that stays inside');
  });

  it('killed and started again: what it missed is told, and what it has heard is not told again', async () => {
    const heard = await world.ask('hook/2');
    await told(`${heard.approvalId}.pending`);
    await waitFor(async () => (await world.record(heard.approvalId))?.told === 'pending', { timeoutMs: 10_000 });
    await kill();
    const missed = await world.ask('hook/3');
    const answered = await world.ask('hook/4');
    await world.grace.denyApproval(answered.approvalId);
    // The routers die as well: what is still to be told stands in the approvals.
    await world.cluster.killAll('router');
    await listen();
    await world.cluster.spawn('router', '', env()).ready;
    await told(`${missed.approvalId}.pending`);
    await told(`${answered.approvalId}.denied`);
    const counts = (id: string) => ids().filter((one) => one === id).length;
    expect(counts(`${heard.approvalId}.pending`)).toBe(1);
    for (const { approvalId } of [heard, missed]) await world.grace.denyApproval(approvalId);
    await told(`${missed.approvalId}.denied`);
  });

  it('that refuses is told again; a redirect is not followed', async () => {
    await kill();
    await listen(307);
    const { approvalId } = await world.ask('hook/5');
    await waitFor(() => ids().filter((id) => id === `${approvalId}.pending`).length >= 2, { timeoutMs: 20_000 });
    expect(received().filter(({ url }) => url !== '/approvals')).toEqual([]);
    expect((await world.record(approvalId))?.told).toBeUndefined();
    await kill();
    await listen();
    await waitFor(async () => (await world.record(approvalId))?.told === 'pending', { timeoutMs: 20_000 });
    await world.grace.denyApproval(approvalId);
  });

  it('holds nobody up while it is away', async () => {
    await kill();
    const { callId, approvalId } = await world.ask('hook/6');
    await world.grace.grantApproval(approvalId);
    expect(await world.ended(callId)).toMatchObject({ state: 'ok' });
  });
});
