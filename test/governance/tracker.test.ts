import type { FabricClient } from '@toolfabric/client';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { armTracker } from '../peers/tracker/src/client.ts';
import { commentsIn } from '../peers/tracker/src/truth-log.ts';
import { Cluster } from '../support/cluster.ts';

let cluster: Cluster;
let client: FabricClient;
let taskId: string;

beforeAll(async () => {
  cluster = await Cluster.startWith(['router', 'gateway', 'tracker', 'egress', 'web']);
  client = cluster.client();
  taskId = (await client.createTask({ title: 'tracker' })).taskId;
}, 60_000);
afterAll(() => cluster.stop());

const text = (address: string, path: string, body?: object): Promise<Response> =>
  fetch(`http://${address}${path}`, body === undefined ? {} : { method: 'POST', body: JSON.stringify(body) });

describe('the tracker', () => {
  it('is written to by a call that a person granted, and says so in its log', async () => {
    const args = { number: 4821, body: 'Both suites pass.', key: 'verdict' };
    const { callId, state } = await client.startCall({ taskId, tool: 'issue.comment', args });
    expect(state).toBe('awaiting_approval');
    expect(commentsIn(cluster.trackerFile, 'verdict')).toHaveLength(0);
    await cluster.grant(callId);
    const end = await cluster.waitForState(callId, ['ok', 'error', 'unknown']);
    const [written, ...more] = commentsIn(cluster.trackerFile, 'verdict');
    expect(more).toHaveLength(0);
    expect(end).toMatchObject({
      state: 'ok',
      result: { sideEffect: 'confirmed', evidence: [{ kind: 'http-resource', ref: written?.id }] },
    });
    expect(written?.idempotencyKey).toBe(end.operation);
  });

  it('is read, and what it says is untrusted', async () => {
    const issue = await client.call({ taskId, tool: 'issue.read', args: { number: 4821 } });
    expect(issue).toMatchObject({
      state: 'ok',
      result: {
        data: { status: 200, body: { number: 4821, state: 'open' } },
        trust: 'untrusted',
        origin: `http://${cluster.trackerAddress}`,
      },
    });
    const found = await client.call({ taskId, tool: 'issue.comments', args: { number: 4821, key: 'verdict' } });
    expect(found.result?.data).toMatchObject({ body: { comments: [{ key: 'verdict' }] } });
  });

  it('keeps its comments and the keys that it knows over a kill', async () => {
    await cluster.killAll('tracker');
    await cluster.ensure('tracker');
    const { trackerAddress: address } = cluster;
    await text(address, '/settings', { dedupe: true });
    const post = () =>
      fetch(`http://${address}/issues/7/comments`, {
        method: 'POST',
        headers: { 'idempotency-key': 'k7' },
        body: JSON.stringify({ body: 'once', key: 'seven' }),
      });
    expect((await post()).status).toBe(201);
    await cluster.killAll('tracker');
    await cluster.ensure('tracker');
    await text(address, '/settings', { dedupe: true });
    expect((await post()).status).toBe(200);
    expect(commentsIn(cluster.trackerFile, 'seven')).toHaveLength(1);
    await text(address, '/settings', { dedupe: false });
  });

  it.each([
    ['drop_receipt', 1],
    ['drop_request', 0],
    ['error_after', 1],
    ['error_before', 0],
    ['duplicate', 2],
    ['duplicate_answer', 1],
  ] as const)('can be armed with %s, which leaves %i comments, and then answers again', async (mode, left) => {
    const { trackerAddress: address } = cluster;
    const key = `armed-${mode}`;
    await armTracker(address, { mode });
    const post = () => text(address, '/issues/8/comments', { body: 'x', key });
    const outcome = await post().then(
      ({ status }) => status,
      () => 'cut',
    );
    expect(outcome).toBe(mode.startsWith('drop') ? 'cut' : mode.startsWith('error') ? 500 : 201);
    expect(commentsIn(cluster.trackerFile, key)).toHaveLength(left);
    expect((await text(address, `/issues/8/comments?key=${key}`)).status).toBe(200);
  });
});
