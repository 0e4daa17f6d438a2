import type { Outcome } from '@toolfabric/contract';
import { FabricError, PACES } from '@toolfabric/kernel';
import type { WorkerPorts } from '@toolfabric/ports';
import { createRedactor } from '@toolfabric/results';
import { startNats, type TestNats, waitFor } from '@toolfabric/testkit';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import type { AnyTool } from './define-tool.ts';
import { shapeOutcome } from './shape-outcome.ts';
import { hurriedClock } from './testing/hurried-clock.ts';
import { Rig } from './testing/rig.ts';
import { answer, toolOf } from './testing/sample-tools.ts';

const SECRET = 'ghp_16C7e42F292c6912E7710c838347Ae178B4a';
const SHOWN = SECRET.slice(0, 8);
/** A text whose cut at `most` falls into the secret, behind so much of it. */
const cutAt = (most: number, behind = 20): string =>
  `${'word '.repeat(most).slice(0, most - behind - 1)} ${SECRET} end`;

let nats: TestNats;
let rig: Rig;
let ports: WorkerPorts;
beforeAll(async () => {
  nats = await startNats({ kinds: ['cli'] });
  const router = await nats.connectAsRouter();
  ports = await nats.connectAsWorker('cli');
  rig = new Rig({ router, ports, signing: nats.signing, pace: PACES.test });
});
afterEach(() => rig.stopAll());
afterAll(() => nats.stop());

const run = async (tool: AnyTool): Promise<Outcome> => {
  await rig.start([tool], { clock: hurriedClock });
  const { callId } = await rig.send();
  return (await waitFor(() => rig.result(callId), { what: 'a result' })).outcome;
};

describe('RS-5: a secret that a cut would halve is redacted before', () => {
  it.each([4_096, 1_000])('in the message and the hint of an error, at %i', async (most) => {
    const tool = toolOf(async () => {
      throw new FabricError('tool_failed', cutAt(most), { hint: cutAt(1_024) });
    });
    const outcome = await run(tool);
    expect(outcome.error?.type).toBe('tool_failed');
    expect(outcome.summary.length).toBeGreaterThan(most - 50);
    expect(JSON.stringify(outcome)).not.toContain(SHOWN);
  });

  it('in the message after the effect has begun', async () => {
    const tool = toolOf(async (ctx) => {
      await ctx.beginEffect({});
      throw new FabricError('tool_failed', cutAt(4_096 - 50));
    });
    const outcome = await run(tool);
    expect(outcome.status).toBe('unknown');
    expect(JSON.stringify(outcome)).not.toContain(SHOWN);
  });

  it('in the summary of an outcome that loses its output to its size', () => {
    const redactor = createRedactor({ secret: new Uint8Array(32), tenant: 'acme' });
    const huge = answer({ summary: cutAt(3_900), data: { text: 'x'.repeat(2 * 1024 * 1024) } });
    const shaped = shapeOutcome(huge, redactor, { timeoutMs: 1, outputBytes: 1_000 });
    expect(shaped.summary).toContain('the output was larger');
    expect(JSON.stringify(shaped)).not.toContain(SHOWN);
  });

  it('in what a tool tells on its way', async () => {
    const told: string[] = [];
    const key = `-----BEGIN PRIVATE KEY-----\n${'QUJD'.repeat(900)}\n-----END PRIVATE KEY-----`;
    const tool = toolOf(async (ctx) => {
      ctx.progress(`${key} ${cutAt(4_000 - key.length - 1)}`);
      return answer({});
    });
    const progress: WorkerPorts['progress'] = (_tenant, _callId, message) => void told.push(message);
    const watched = new Rig({
      router: await nats.connectAsRouter(),
      ports: { ...ports, progress },
      signing: nats.signing,
      pace: PACES.test,
    });
    await watched.start([tool], { clock: hurriedClock });
    const { callId } = await watched.send();
    await waitFor(() => watched.result(callId), { what: 'a result' });
    await watched.stopAll();
    expect(told).toHaveLength(1);
    expect(told[0]).not.toContain(SHOWN);
  });
});
