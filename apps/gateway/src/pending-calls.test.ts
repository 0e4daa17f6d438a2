import type { Actor, CallView } from '@toolfabric/contract';
import { describe, expect, it } from 'vitest';
import { PendingCalls } from './pending-calls.ts';
import { until } from './testing/until.ts';

const ACTOR: Actor = { tenant: 'acme', user: 'alice', agent: 'coder' };
const view = (callId: string): CallView => ({
  callId,
  state: 'queued',
  taskId: 't',
  tool: { name: 'a.b', version: '1.0.0' },
  createdAt: 1,
});
const deaf = { onView: () => {}, onFailure: () => {}, onDrain: () => {} };

describe('pending calls', () => {
  it('asks once for all listeners of a call, and not again once nobody listens', async () => {
    let asked = 0;
    const pending = new PendingCalls({
      pollMs: 5,
      limit: 10,
      getCall: async (_actor, callId) => {
        asked += 1;
        return view(callId);
      },
    });
    let heard = 0;
    const listener = {
      ...deaf,
      onView: () => {
        heard += 1;
      },
    };
    const stops = [1, 2, 3].map(() => pending.listen(ACTOR, 'c1', { ...listener }));
    await until(() => asked >= 2, 'asking');
    for (const stop of stops) stop?.();
    const [askedThen, heardThen] = [asked, heard];
    expect(heardThen).toBeGreaterThanOrEqual(3);
    expect(heardThen).toBeLessThanOrEqual(3 * askedThen);
    await new Promise((resolve) => setTimeout(resolve, 40));
    expect(asked).toBe(askedThen);
    expect(pending.size).toBe(0);
  });

  it('P3: is bounded in listeners and in questions in flight', async () => {
    let asking = 0;
    let most = 0;
    const pending = new PendingCalls({
      pollMs: 5,
      limit: 200,
      getCall: async () => {
        asking += 1;
        most = Math.max(most, asking);
        await new Promise((resolve) => setTimeout(resolve, 30));
        asking -= 1;
        return undefined;
      },
    });
    const stops = Array.from({ length: 200 }, (_, i) => pending.listen(ACTOR, `c${i}`, deaf));
    expect(pending.listen(ACTOR, 'one more', deaf)).toBeUndefined();
    await until(() => most === 64, 'the bound');
    await new Promise((resolve) => setTimeout(resolve, 60));
    expect(most).toBe(64);
    for (const stop of stops) stop?.();
    stops[0]?.();
    expect(pending.size).toBe(0);
    pending.listen(ACTOR, 'one more', deaf)?.();
  });

  it('P1: keeps actors apart whose parts look alike when put together', () => {
    const pending = new PendingCalls({ pollMs: 60_000, limit: 10, getCall: async () => undefined });
    const heard: string[] = [];
    const actors = [
      { tenant: 'a', user: 'b","c', agent: 'd' },
      { tenant: 'a', user: 'b', agent: 'c","d' },
    ];
    const stops = actors.map((actor, i) =>
      pending.listen(actor, 'c1', { ...deaf, onView: () => void heard.push(String(i)) }),
    );
    pending.onSettled({ actor: actors[1] as Actor, view: view('c1') });
    expect(heard).toEqual(['1']);
    for (const stop of stops) stop?.();
  });
});
