import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { connectFabric, type FabricClient } from '@toolfabric/client';
import { FRESH_MS } from '@toolfabric/contract';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { LocalIssuer } from '../../apps/gateway/src/testing/local-issuer.ts';
import { ADA } from '../support/cluster.ts';
import { ApprovalCluster, ERASE } from './support/approval-cluster.ts';

let world: ApprovalCluster;
let issuer: LocalIssuer;
const clients: FabricClient[] = [];

beforeAll(async () => {
  world = await ApprovalCluster.start();
  issuer = await LocalIssuer.open();
  const rights = { lead: ['approvals:decide', 'approvals:strong'], reader: ['approvals:decide'] };
  const file = join(world.cluster.directory, 'issuers.json');
  const issuers = [
    {
      issuer: issuer.url,
      audience: 'toolfabric',
      tenant: ADA.tenant,
      agentClaim: 'azp',
      rights: { claim: 'roles', values: rights },
    },
  ];
  writeFileSync(file, JSON.stringify(issuers));
  await world.cluster.killAll('gateway');
  await world.cluster.spawn('gateway', '', { TOOLFABRIC_OIDC_FILE: file }).ready;
  await world.seen(world.grace);
}, 60_000);
afterAll(async () => {
  for (const client of clients) client.close();
  issuer.close();
  await world.stop();
});

const secondsAgo = (ms: number): number => Math.floor((Date.now() - ms) / 1_000);

/** A person who comes with a token of the issuer; the token itself was made just now. */
const person = async (claims: Readonly<Record<string, unknown>>): Promise<FabricClient> => {
  const token = await issuer.sign({ sub: 'carol', azp: 'browser', roles: ['lead'], ...claims });
  const client = connectFabric({ address: world.cluster.address, token });
  clients.push(client);
  return client;
};

const ask = (identity: string) => world.ask(identity, { tool: ERASE });

describe('PO-10: a strong approval by a person of an issuer', () => {
  it('who logged in within the last minutes needs no second one, and the record says when it was', async () => {
    const { callId, approvalId } = await ask('fresh/1');
    const authTime = secondsAgo(10_000);
    const carol = await person({ auth_time: authTime });
    expect(await carol.grantApproval(approvalId)).toMatchObject({ decidedBy: 'carol', grantedBy: [] });
    expect(await world.ended(callId)).toMatchObject({ state: 'ok' });
    expect(world.times('fresh/1')).toBe(1);
    expect((await world.record(approvalId))?.decidedBy).toMatchObject({ user: 'carol', freshAt: authTime * 1_000 });
  });

  it.each<[string, () => Record<string, unknown>]>([
    ['whose login is too long ago', () => ({ auth_time: secondsAgo(FRESH_MS + 5_000) })],
    ['of whose login the issuer says nothing', () => ({ iat: secondsAgo(0) })],
    ['whose login is yet to come', () => ({ auth_time: secondsAgo(-3_600_000) })],
    ['whose login is a text', () => ({ auth_time: String(secondsAgo(1_000)) })],
    ['whose login is no number', () => ({ auth_time: null })],
  ])('%s is one of two: nothing runs on that yes alone', async (what, claims) => {
    const identity = `stale/${what.replaceAll(' ', '-')}`;
    const { callId, approvalId } = await ask(identity);
    const carol = await person(claims());
    expect(await carol.grantApproval(approvalId)).toMatchObject({ state: 'pending', grantedBy: ['carol'] });
    // The same person again, by another token, is no second person.
    expect(await (await person(claims())).grantApproval(approvalId)).toMatchObject({ state: 'pending' });
    expect((await world.cluster.call(callId))?.state).toBe('awaiting_approval');
    expect(world.times(identity)).toBe(0);
    await world.linus.denyApproval(approvalId);
  });

  it('who logs in anew completes the yes that was one of two', async () => {
    const { callId, approvalId } = await ask('again/1');
    const before = await person({ auth_time: secondsAgo(FRESH_MS + 5_000) });
    expect(await before.grantApproval(approvalId)).toMatchObject({ state: 'pending' });
    const after = await person({ auth_time: secondsAgo(1_000) });
    expect(await after.grantApproval(approvalId)).toMatchObject({ decidedBy: 'carol' });
    expect(await world.ended(callId)).toMatchObject({ state: 'ok' });
    expect(world.times('again/1')).toBe(1);
  });

  it('needs the right all the same, however fresh, and never is who asked', async () => {
    const { approvalId } = await ask('rights/1');
    const reader = await person({ roles: ['reader'], auth_time: secondsAgo(1_000) });
    await expect(reader.grantApproval(approvalId)).rejects.toMatchObject({ type: 'forbidden' });
    const asker = await person({ sub: ADA.user, auth_time: secondsAgo(1_000) });
    await expect(asker.grantApproval(approvalId)).rejects.toMatchObject({ type: 'forbidden' });
    const written = await person({ sub: ADA.user.toUpperCase(), auth_time: secondsAgo(1_000) });
    await expect(written.grantApproval(approvalId)).rejects.toMatchObject({ type: 'forbidden' });
    expect(await world.record(approvalId)).toMatchObject({ state: 'pending' });
  });
});
