import {
  type CallRecord,
  FabricEvent,
  MAX_MESSAGE_BYTES,
  type ToolContract,
  type ToolResult,
} from '@toolfabric/contract';
import { FabricError, noMetrics, sha256Hex, silentLogger, systemClock } from '@toolfabric/kernel';
import { describe, expect, it, vi } from 'vitest';
import { PayloadLog } from './record-payloads.ts';
import { sampleCall } from './testing/sample-call.ts';
import { sampleContract } from './testing/sample-contract.ts';

/** Has the form of a key of a code host. */
const CANARY = `ghp_${'aB3dE5fG7hJ9kL1mN3pQ5rS7tU9vW1xY3zA5'}`;
const SECRET = Buffer.from('a secret of the installation, long enough');

const withRules = (redact: string[]): ToolContract => {
  const contract = sampleContract();
  return { ...contract, governance: { ...contract.governance, redact } };
};

const record = async (
  call: CallRecord,
  { contract = withRules([]), secret = SECRET }: { contract?: ToolContract; secret?: Uint8Array } = {},
): Promise<FabricEvent | undefined> => {
  const events: FabricEvent[] = [];
  const log = new PayloadLog({
    secret,
    events: { emit: (event) => void events.push(event), store: async () => {} },
    clock: systemClock,
    log: silentLogger,
    metrics: noMetrics,
    later: (work) => void setImmediate(work),
    contractOf: async () => contract,
  });
  log.record(call);
  await vi.waitFor(() => expect(events).toHaveLength(1));
  return FabricEvent.parse(JSON.parse(JSON.stringify(events[0])));
};

const result = (more: Partial<ToolResult>): ToolResult => ({
  status: 'ok',
  summary: 'done',
  sideEffect: 'none',
  trust: 'trusted',
  callId: 'c',
  tool: { name: 'a.b', version: '1.0.0' },
  attempt: 1,
  ...more,
});

const ended = (args: CallRecord['args'], more: Partial<ToolResult> = {}): CallRecord => ({
  ...sampleCall(),
  state: 'ok',
  args,
  result: result(more),
});

const textOf = (event: FabricEvent | undefined, kind: 'arguments' | 'result'): string =>
  event?.payloads?.find((payload) => payload.kind === kind)?.text ?? '';

describe('the payloads of a call', () => {
  it('TR-1: are its arguments and its result, whole when they fit', async () => {
    const call = ended({ path: 'a.ts' }, { data: { n: 1 }, artifacts: ['a-1'] });
    const event = await record(call);
    expect(event).toMatchObject({
      id: `${call.callId}:payloads.ok`,
      type: 'call.payloads',
      service: 'router',
      actor: call.actor,
      taskId: call.taskId,
    });
    const text = '{"path":"a.ts"}';
    expect(event?.payloads?.[0]).toEqual({ kind: 'arguments', sha256: sha256Hex(text), bytes: 15, text, cut: false });
    expect(JSON.parse(textOf(event, 'result'))).toEqual({
      status: 'ok',
      summary: 'done',
      data: { n: 1 },
      sideEffect: 'none',
      artifacts: ['a-1'],
    });
  });

  it('RS-5: hold no secret, wherever it stands', async () => {
    const event = await record(
      ended(
        {
          header: `Authorization: Bearer ${CANARY}`,
          deep: [{ note: CANARY }],
          [CANARY]: 1,
          password: 'hunter2hunter2',
        },
        {
          summary: `used ${CANARY}`,
          data: { out: `x\n${CANARY}\ny`, list: [CANARY] },
          content: [{ type: 'text', text: CANARY }],
          error: { type: 'tool_failed', layer: 'tool', message: CANARY, retryable: false },
          evidence: [{ kind: 'url', ref: `https://u:${CANARY}@example.com/` }],
        },
      ),
    );
    const text = JSON.stringify(event);
    expect(text).not.toContain(CANARY);
    expect(text).not.toContain('hunter2');
    expect(text.match(/\[redacted:/g)?.length).toBeGreaterThan(7);
  });

  it('RS-5: the rules of the contract hold, for arguments and for data', async () => {
    const event = await record(ended({ note: 'mine', other: 'seen' }, { data: { note: 'mine too', other: 'seen' } }), {
      contract: withRules(['/note']),
    });
    for (const kind of ['arguments', 'result'] as const) {
      expect(textOf(event, kind)).not.toContain('mine');
      expect(textOf(event, kind)).toContain('seen');
    }
  });

  it('RS-5: equal secrets of two tenants cannot be recognised', async () => {
    const of = async (tenant: string) => {
      const call = ended({ note: CANARY });
      return textOf(await record({ ...call, actor: { ...call.actor, tenant } }), 'arguments');
    };
    const [one, again, other] = [await of('acme'), await of('acme'), await of('rival')];
    expect(one).toBe(again);
    expect(one).not.toBe(other);
  });

  it('are cut to what a message holds, after they were redacted, and say so', async () => {
    const long = `${'"\\'.repeat(20_000)}${CANARY}`;
    const event = await record(ended({ long }, { data: { long: `${'ä'.repeat(30_000)}${CANARY}` } }));
    expect(Buffer.byteLength(JSON.stringify(event))).toBeLessThan(MAX_MESSAGE_BYTES);
    for (const payload of event?.payloads ?? []) {
      expect(payload.cut).toBe(true);
      expect(payload.bytes).toBeGreaterThan(Buffer.byteLength(payload.text));
      expect(payload.sha256).toBe(sha256Hex(payload.text));
    }
  });

  it('a secret on the border is not cut in half', async () => {
    for (let before = 24_480; before < 24_620; before += 7) {
      const event = await record(ended({ a: `${'x '.repeat(before / 2)}${CANARY}` }));
      expect(textOf(event, 'arguments')).not.toContain('ghp_');
    }
  });

  it('pictures are told by their size', async () => {
    const dataBase64 = Buffer.from(CANARY).toString('base64');
    const event = await record(ended({}, { content: [{ type: 'image', mediaType: 'image/png', dataBase64 }] }));
    expect(textOf(event, 'result')).not.toContain(dataBase64);
    expect(textOf(event, 'result')).toContain(`"base64Characters":${dataBase64.length}`);
  });
});

describe('nothing is recorded', () => {
  const failing = (contractOf: () => Promise<ToolContract>) => {
    const events: FabricEvent[] = [];
    const warnings: string[] = [];
    const counted: string[] = [];
    const log = new PayloadLog({
      secret: SECRET,
      events: { emit: (event) => void events.push(event), store: async () => {} },
      clock: systemClock,
      log: { ...silentLogger, warn: (_event, fields) => void warnings.push(JSON.stringify(fields)) },
      metrics: { ...noMetrics, count: (name) => void counted.push(name) },
      later: (work) => void setImmediate(work),
      contractOf,
    });
    return { log, events, warnings, counted };
  };

  it('of a call whose contract cannot be read: its rules are not known', async () => {
    const { log, events, warnings } = failing(async () => {
      throw new FabricError('unavailable', CANARY);
    });
    log.record(ended({ note: CANARY }));
    await vi.waitFor(() => expect(warnings).toHaveLength(1));
    expect(events).toEqual([]);
    expect(warnings.join()).not.toContain(CANARY);
  });

  it('of more calls at once than may wait; they are counted', async () => {
    const { log, events, counted } = failing(async () => withRules([]));
    for (let i = 0; i < 300; i += 1) log.record(ended({ i }));
    await vi.waitFor(() => expect(events).toHaveLength(256));
    expect(counted.filter((name) => name === 'toolfabric_events_dropped_total')).toHaveLength(44);
  });
});
