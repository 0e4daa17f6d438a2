import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { FabricClient } from '@toolfabric/client';
import { waitFor } from '@toolfabric/testkit';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { commentsIn } from '../peers/tracker/src/truth-log.ts';
import { ADA, Cluster } from '../support/cluster.ts';

const POLICY = `
@id("deployers_read")
forbid (principal, action == Action::"issue.read", resource)
unless { context.roles.contains("deploy") };

@id("deployers_comment")
forbid (principal, action == Action::"issue.comment", resource)
unless { context.roles.contains("deploy") };
`;

let cluster: Cluster;
let plain: FabricClient;
let deployer: FabricClient;
let grace: FabricClient;
let taskId = '';

beforeAll(async () => {
  cluster = await Cluster.startWith(['gateway', 'tracker', 'egress', 'web']);
  const policies = join(cluster.directory, 'policies');
  mkdirSync(join(policies, 'tenants', ADA.tenant), { recursive: true });
  writeFileSync(join(policies, 'tenants', ADA.tenant, 'roles.cedar'), POLICY);
  await cluster.spawn('router', '', { TOOLFABRIC_POLICY_DIR: policies }).ready;
  plain = cluster.client();
  deployer = cluster.client({ rights: ['deploy'] });
  grace = cluster.client({ user: 'grace', rights: ['approvals:decide'] });
  taskId = (await waitFor(() => plain.createTask({ title: 'roles' }).catch(() => undefined))).taskId;
  for (const client of [deployer, grace])
    await waitFor(() => client.listTools().catch(() => undefined), { what: 'the tokens to be read' });
}, 60_000);
afterAll(() => cluster.stop());

const comment = (key: string) => ({ taskId, tool: 'issue.comment', args: { number: 4821, body: 'b', key } });

describe('a policy folder over `context.roles`', () => {
  it('PO-1: one user with two tokens: the rights of the one that asks decide', async () => {
    const read = { taskId, tool: 'issue.read', args: { number: 4821 } };
    const refused = await plain.call(read);
    expect(refused).toMatchObject({ state: 'refused', result: { error: { type: 'denied_by_policy' } } });
    expect(refused.result?.summary).toContain('tenant.acme.deployers_read');
    expect(await deployer.call(read, { waitMs: 20_000 })).toMatchObject({ state: 'ok' });
  });

  it('PO-4: what a person allows is decided again with the rights that asked', async () => {
    expect((await plain.call(comment('refused'))).state).toBe('refused');
    const { callId, approvalId = '' } = await deployer.call(comment('allowed'));
    await grace.grantApproval(approvalId);
    expect(await cluster.waitForState(callId, ['ok', 'denied', 'error'])).toMatchObject({ state: 'ok' });
    expect(commentsIn(cluster.trackerFile, 'allowed')).toHaveLength(1);
    expect(commentsIn(cluster.trackerFile, 'refused')).toHaveLength(0);
  });

  it('PO-4: what a person edits goes on with the rights of the one who asked, not with their own', async () => {
    const { approvalId = '' } = await deployer.call(comment('before'));
    const { call } = await grace.editApproval(approvalId, { args: comment('after').args });
    const end = await cluster.waitForState(call.callId, ['ok', 'denied', 'error']);
    expect(end).toMatchObject({ state: 'ok', roles: ['deploy'] });
    expect(commentsIn(cluster.trackerFile, 'after')).toHaveLength(1);
    expect(commentsIn(cluster.trackerFile, 'before')).toHaveLength(0);
  });
});
