import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { freePort } from '@toolfabric/bus-nats/testing';
import { FabricError } from '@toolfabric/kernel';
import { waitFor } from '@toolfabric/testkit';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { EventTap } from '../telemetry/event-tap.ts';
import { ApprovalCluster } from './support/approval-cluster.ts';

const SINK = fileURLToPath(new URL('support/webhook-sink.ts', import.meta.url));
/** Have the form of secrets; nobody told the fabric that they are. */
const CANARIES = [
  `ghp_${'Kd9LmX2vB7nQ4wR8tY1pC6sZ3fG5hJ0aQe7u'}`,
  `xoxb-${'9283746501-1029384756-Zx81mnbVc93lkJhG'}`,
  'wQ3zLmXvB8nK4wR9tY1pC6sD/f2G5hJ0aQe7uVx4',
] as const;
const [IN_RESOURCE, IN_BODY, UNDER_NAME] = CANARIES;
const BODY = `first line\nslack ${IN_BODY}\naws_secret_access_key = ${UNDER_NAME}`;
const MARK = /\[redacted:[a-z-]+:[0-9a-f]{8}\]/;

let world: ApprovalCluster;
let tap: EventTap;
let sink: ChildProcess;
const notices = () => join(world.cluster.directory, 'notices.log');

beforeAll(async () => {
  world = await ApprovalCluster.start();
  tap = await EventTap.on(world.cluster.nats);
  const port = await freePort();
  const key = join(world.cluster.directory, 'webhook.key');
  writeFileSync(key, 'a secret of the installation, and of whoever receives');
  sink = spawn(process.execPath, [SINK, String(port), notices(), '204'], { stdio: ['ignore', 'pipe', 'inherit'] });
  if (sink.stdout) await once(sink.stdout, 'data');
  await world.cluster.killAll('router');
  await world.cluster.spawn('router', '', {
    TOOLFABRIC_APPROVAL_WEBHOOK_URL: `http://127.0.0.1:${port}/approvals`,
    TOOLFABRIC_APPROVAL_WEBHOOK_SECRET_FILE: key,
  }).ready;
}, 60_000);
afterAll(async () => {
  sink.kill('SIGKILL');
  await tap.stop();
  await world.stop();
});

const expectNone = (where: string, text: string): void => {
  for (const canary of CANARIES) expect(text.includes(canary.slice(0, 12)), where).toBe(false);
};

describe('RS-5: a secret among the arguments of a call that needs a person', () => {
  it('is hidden from whoever answers, who sees that it is; the call runs with what was sent', async () => {
    const identity = `repo/${IN_RESOURCE}`;
    const { callId, approvalId } = await world.ask(identity);
    const shown = await world.linus.getApproval(approvalId);
    expect(shown).toMatchObject({ strength: 'strong', whole: false });
    expect(shown.preview).toContain('\nhidden: ');
    expect(shown.resource).toMatch(MARK);
    const listed = await world.linus.listApprovals();
    const first = await world.linus.grantApproval(approvalId);
    const second = await world.alan.grantApproval(approvalId);
    expectNone('verbs', JSON.stringify([shown, listed, first, second]));
    expect(await world.ended(callId)).toMatchObject({ state: 'ok' });
    expect(world.times(identity)).toBe(1);
  });

  it('comes out nowhere: no verb, no notice, no event, no log', async () => {
    const { callId, approvalId } = await world.ask('repo/body', { body: BODY });
    const shown = await world.linus.getApproval(approvalId);
    expect(shown.preview).toMatch(/ {4}\| first line\n {4}\| slack \[redacted:/);
    const denied = await world.linus.denyApproval(approvalId);
    expectNone('verbs', JSON.stringify([shown, denied]));
    await waitFor(() => tap.ofCall(callId, 'call.settled') && tap.ofCall(callId, 'approval.decided'));
    await waitFor(() => existsSync(notices()) && readFileSync(notices(), 'utf8').includes(`${approvalId}.denied`));
    expectNone('webhook', readFileSync(notices(), 'utf8'));
    expectNone('trace', tap.texts.join('\n'));
    expectNone('logs', [...world.cluster.services].flatMap(({ log }) => log).join('\n'));
  });

  it('is not lost where a person changes the rest: a mark is no value', async () => {
    const { approvalId } = await world.ask('repo/marks', { body: BODY });
    const { preview } = await world.linus.getApproval(approvalId);
    const [mark = ''] = MARK.exec(preview) ?? [];
    const args = { identity: 'repo/marks', body: `slack ${mark}` };
    const refused = await world.linus.editApproval(approvalId, { args }).catch((thrown: unknown) => thrown);
    expect(refused).toBeInstanceOf(FabricError);
    expect(refused).toMatchObject({ type: 'invalid_arguments' });
    expect(await world.linus.getApproval(approvalId)).toMatchObject({ state: 'pending' });
  });
});
