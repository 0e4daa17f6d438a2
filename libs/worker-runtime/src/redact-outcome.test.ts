import type { Outcome, WorkBody } from '@toolfabric/contract';
import { PACES } from '@toolfabric/kernel';
import type { WorkerPorts } from '@toolfabric/ports';
import { createRedactor } from '@toolfabric/results';
import { startNats, type TestNats, waitFor } from '@toolfabric/testkit';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { redactOutcome } from './redact-outcome.ts';
import { newCallId, Rig } from './testing/rig.ts';
import { answer, done, toolOf } from './testing/sample-tools.ts';

const CANARY = `ghp_${'x9Kq2LmW7Zr4Tb8Vn3Ys6Pd1Hf5Gj0Ac'.slice(0, 36)}QR`;
const SECRET = new Uint8Array(32).fill(7);
const redactor = () => createRedactor({ secret: SECRET, tenant: 'acme' });

const full: Outcome = {
  status: 'error',
  summary: `used ${CANARY}`,
  data: { nested: [{ token: CANARY, text: `a ${CANARY} b` }], [`${CANARY}`]: 1 },
  content: [
    { type: 'text', text: `token ${CANARY}` },
    { type: 'citation', url: `https://example.com/?key=${CANARY}`, text: CANARY },
    { type: 'file', name: `${CANARY}.txt`, mediaType: 'text/plain', artifact: `a-${'0'.repeat(26)}` },
    { type: 'resource_link', uri: `x:${CANARY}`, name: CANARY },
    { type: 'resource', uri: `x:${CANARY}`, text: CANARY },
  ],
  error: {
    type: 'tool_failed',
    layer: 'adapter',
    message: `failed with ${CANARY}`,
    hint: `try ${CANARY}`,
    retryable: false,
    fields: [{ field: '/a', expected: 'b', got: CANARY }],
  },
  evidence: [{ kind: 'note', ref: CANARY, detail: `d ${CANARY}` }],
  origin: `web:${CANARY}`,
  sideEffect: 'confirmed',
  artifacts: [`a-${'1'.repeat(26)}`],
  trust: 'untrusted',
};

describe('RS-5: an outcome', () => {
  it('loses a secret wherever it stands, and nothing else', () => {
    const redacted = redactOutcome(redactor(), full);
    expect(JSON.stringify(redacted)).not.toContain(CANARY);
    expect(redacted).toMatchObject({
      status: 'error',
      sideEffect: 'confirmed',
      artifacts: full.artifacts,
      error: { type: 'tool_failed', retryable: false },
      content: [{ type: 'text' }, {}, { artifact: `a-${'0'.repeat(26)}` }, {}, {}],
    });
    expect(redacted.summary).toMatch(/^used \[redacted:[a-z-]+:[0-9a-f]{8}\]$/);
    expect(redactOutcome(redactor(), redacted)).toEqual(redacted);
  });

  it('keeps hashes, ids and pictures', () => {
    const dataBase64 = Buffer.from(Array.from({ length: 300 }, (_, i) => (i * 97) % 256)).toString('base64');
    const outcome = done({
      data: { sha256: 'ab'.repeat(32), callId: newCallId(), artifact: `a-${'2'.repeat(26)}` },
      content: [{ type: 'image', mediaType: 'image/png', dataBase64 }],
    });
    expect(redactOutcome(redactor(), outcome)).toEqual(outcome);
  });

  it('by a pointer of its contract loses that field of its data', () => {
    const named = createRedactor({ secret: SECRET, tenant: 'acme', rules: ['/person/phone'] });
    const { data } = redactOutcome(named, done({ data: { person: { phone: '12 34', name: 'Ada' } } }));
    expect(data).toMatchObject({ person: { name: 'Ada', phone: expect.stringContaining('[redacted:field:') } });
  });
});

describe('RS-5: whatever a tool says', () => {
  let nats: TestNats;
  let rig: Rig;
  let ports: WorkerPorts;
  const lines: string[] = [];
  beforeAll(async () => {
    nats = await startNats({ kinds: ['cli'] });
    const router = await nats.connectAsRouter();
    const worker = await nats.connectAsWorker('cli');
    ports = { ...worker, progress: (_tenant, _callId, message) => void lines.push(message) };
    rig = new Rig({ router, ports, signing: nats.signing, pace: PACES.test });
  });
  afterEach(() => rig.stopAll());
  afterAll(() => nats.stop());

  const run = async (handle: Parameters<typeof toolOf>[0], changes: Partial<WorkBody> = {}) => {
    const tool = toolOf(handle, {
      probe: async () => ({ answer: 'found', receipt: done({ summary: `was ${CANARY}` }) }),
    });
    await rig.start([tool], { redactionSecret: SECRET });
    const { callId } = await rig.send(changes);
    const result = await waitFor(() => rig.result(callId), { what: 'the result' });
    const claim = await rig.claim(callId);
    expect(JSON.stringify([result, claim?.outcome])).not.toContain(CANARY);
    await rig.stopAll();
    return result.outcome;
  };

  it('in its outcome', async () => {
    expect(await run(async () => answer({ data: { text: CANARY } }))).toMatchObject({ status: 'ok' });
  });

  it('in what it throws, before its effect and after it', async () => {
    const { FabricError } = await import('@toolfabric/kernel');
    const thrown = new FabricError('tool_failed', `refused ${CANARY}`, { hint: `not ${CANARY}` });
    expect(await run(() => Promise.reject(thrown))).toMatchObject({ status: 'error', error: { type: 'tool_failed' } });
    const after = await run(async (ctx) => {
      await ctx.beginEffect({});
      throw thrown;
    });
    expect(after).toMatchObject({ status: 'unknown', summary: expect.stringContaining('[redacted:') });
  });

  it('in a line of progress', async () => {
    await run(async (ctx) => {
      ctx.progress(`trying ${CANARY}`);
      return answer();
    });
    expect(lines.at(-1)).toMatch(/^trying \[redacted:/);
  });

  it('in the receipt of a probe', async () => {
    const probe = { mode: 'probe', claim: 'none', effect: 'none' } as const;
    expect(await run(async () => answer(), probe)).toMatchObject({ data: { answer: 'found' } });
  });

  it('by the rules of its contract; with one that this worker does not know it does not run', async () => {
    expect(await run(async () => answer({ data: { mail: 'ada@example.com' } }), { redact: ['email'] })).toMatchObject({
      data: { mail: expect.stringContaining('[redacted:email:') },
    });
    await rig.stopAll();
    let ran = false;
    const outcome = await run(
      async () => {
        ran = true;
        return answer();
      },
      { redact: ['no_such_rule'] },
    );
    expect(outcome).toMatchObject({ status: 'error', error: { type: 'contract_invalid' }, sideEffect: 'none' });
    expect(ran).toBe(false);
  });

  it('a secret that the budget would cut in half is gone before it is cut', async () => {
    const text = `${'a '.repeat(2_030)}${CANARY}`;
    const outcome = await run(async () => answer({ summary: text, data: { text: text.repeat(3) } }));
    expect(JSON.stringify(outcome)).not.toContain(CANARY.slice(0, 12));
  });

  it('an output beyond every budget is left out unread', async () => {
    const outcome = await run(async () => answer({ data: { text: 'x'.repeat(3 * 1024 * 1024) } }));
    expect(outcome).toMatchObject({ status: 'ok', truncation: [{ kept: 0 }] });
  });
});
