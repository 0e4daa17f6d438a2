import { status } from '@grpc/grpc-js';
import { connectFabric, type FabricClient } from '@toolfabric/client';
import { callIdFor, uuidv7 } from '@toolfabric/kernel';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { ALICE, type OpenGateway, type OpenOptions, openGateway } from './testing/open-gateway.ts';
import { rawTools } from './testing/raw-tools.ts';
import { ScriptedRouter } from './testing/scripted-router.ts';

const TASK = 't-00000000000000000000000000';
const proposal = (changes = {}) => ({ taskId: TASK, tool: 'workspace.read_file', args: { path: 'a' }, ...changes });

let router: ScriptedRouter;
let open: OpenGateway<FabricClient>;
const reopen = async (options: OpenOptions = {}) => {
  await open?.close();
  router = new ScriptedRouter();
  open = await openGateway(connectFabric, router.ports(), options);
};
beforeEach(() => reopen());
afterEach(() => open.close());

describe('a router that is away', () => {
  it('RE-3: is asked again with the same request, and the call exists once', async () => {
    router.away = 1;
    router.losesAnswers = 1;
    const view = await open.connect(open.alice).startCall(proposal());
    expect(view.state).toBe('queued');
    expect(router.count('call')).toBe(2);
    expect(new Set(router.asked.map((request) => request.body)).size).toBe(1);
    expect(router.calls.size).toBe(1);
  });

  it('is unavailable and retryable once the limit has passed; the client goes on with the same key', async () => {
    const raw = rawTools(open.gateway.address, open.alice);
    router.away = 1_000;
    const failed = await raw.fails(() => raw.call({ ...proposal(), waitMs: 0 }));
    expect(failed).toMatchObject({ code: status.UNAVAILABLE, error: { type: 'unavailable', retryable: true } });
    raw.close();
    router.away = 12;
    const requestKey = uuidv7();
    const view = await open.connect(open.alice).startCall(proposal({ requestKey }));
    expect(view.callId).toBe(callIdFor(ALICE, requestKey, Date.now()));
  });

  it('ends with the deadline of the caller', async () => {
    router.away = 1_000;
    const client = open.connect(open.alice);
    await expect(client.getCall('2969-00000000000000000000000000', { timeoutMs: 150 })).rejects.toMatchObject({
      name: 'FabricError',
      type: 'unavailable',
    });
  });

  it('answers with nonsense: internal, and nothing hangs', async () => {
    const answers = ['', 'null', '{}', '{"ok":', '{"error":{"type":"no such type"}}', '{"ok":{}}', '{"ok":1}'];
    for (const answer of answers) {
      router.handle = () => answer;
      await expect(open.connect(open.alice).startCall(proposal())).rejects.toMatchObject({ type: 'internal' });
    }
  });
});

describe('a call of somebody else', () => {
  it.each(['getCall', 'cancelCall'] as const)('RS-4: does not exist for %s', async (verb) => {
    const { callId } = await open.connect(open.alice).startCall(proposal());
    await expect(open.connect(open.bob)[verb](callId)).rejects.toMatchObject({ type: 'not_found' });
    expect(router.calls.get(callId)?.view.state).toBe('queued');
  });

  it('RS-4: the same request key gives another actor another call', async () => {
    const requestKey = uuidv7();
    const own = await open.connect(open.alice).startCall(proposal({ requestKey }));
    const other = await open.connect(open.bob).startCall(proposal({ requestKey }));
    expect(other.callId).not.toBe(own.callId);
  });
});
