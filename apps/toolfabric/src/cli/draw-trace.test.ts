import type { SpanRecord } from '@toolfabric/contract';
import { describe, expect, it } from 'vitest';
import { drawTrace } from './draw-trace.ts';

const CALL = '2969-0123456789abcdefghjkmnpqrs';
const span = (spanId: string, parentSpanId: string | undefined, name: string, startUs: number): SpanRecord => ({
  traceId: '0'.repeat(32),
  spanId,
  ...(parentSpanId === undefined ? {} : { parentSpanId }),
  name,
  kind: 'internal',
  service: 'router',
  startUs,
  endUs: startUs + 2_500,
  status: name === 'bad' ? 'error' : 'ok',
  attributes: {},
});
const call = {
  ...{ callId: CALL, taskId: 't-1', user: 'ann', agent: 'coder', tool: 'workspace.read_file', version: '1.0.0' },
  ...{ state: 'error', sideEffect: 'none', errorType: 'file_not_found', rule: 'default.allow.read', attempt: 1 },
  ...{ acceptedAt: 1_000, settledAt: 1_020, durationMs: 20.4, truncated: true, artifacts: 2, turn: 0, attributes: {} },
};

describe('a drawn trace', () => {
  it('TR-1: shows the tree with timings, decision, attempts and artifacts', () => {
    const spans = [
      span('c', 'b', 'leaf', 1_003_000),
      span('b', 'a', 'bad', 1_001_000),
      span('a', undefined, 'root', 1_000_000),
    ];
    const events = [
      { id: '2', type: 'call.settled', service: 'router', at: 1_020, attributes: { state: 'error' } },
      { id: '1', type: 'call.accepted', service: 'router', at: 1_000, attributes: { rule: 'r' } },
    ];
    const payloads = [{ kind: 'arguments' as const, sha256: '', bytes: 9, text: '{"a":"b"}', cut: false }];
    const text = drawTrace(CALL, { call, events, spans, payloads, cut: false });
    expect(text).toContain('decision default.allow.read, attempt 1, side effect none, error file_not_found');
    expect(text).toContain('2 artifacts, output was cut');
    const [root, bad, leaf] = ['root', 'bad', 'leaf'].map((name) =>
      text.split('\n').find((line) => line.trim().startsWith(name)),
    );
    expect(root).toMatch(/^ {2}root .*\+ {2}0\.0 ms +2\.5 ms$/);
    expect(bad).toMatch(/^ {4}bad .*\+ {2}1\.0 ms +2\.5 ms {2}ERROR$/);
    expect(leaf).toMatch(/^ {6}leaf .*\+ {2}3\.0 ms/);
    expect(text.indexOf('call.accepted')).toBeLessThan(text.indexOf('call.settled'));
    expect(text).toContain('arguments: {"a":"b"}');
  });

  it('RE-3, RT-10: shows what happened to worker and workspace', () => {
    const told = (type: string, attributes: Record<string, string>) =>
      ({ id: type, type, service: 'router', at: 1_000, attributes }) as const;
    const events = [
      told('worker.dead', { incarnation: 'cli-a', claim: 'started', epoch: '1' }),
      told('workspace.moved', { workspace: 't-1', from: 'cli-a', to: 'cli-b' }),
      told('workspace.lost', { workspace: 't-1' }),
      told('call.queued', { epoch: '1' }),
    ];
    const text = drawTrace(CALL, { call, events, spans: [], payloads: [], cut: false });
    expect(text).toMatch(/worker\.dead +router +epoch=1 incarnation=cli-a claim=started/);
    expect(text).toMatch(/workspace\.moved +router +workspace=t-1 from=cli-a to=cli-b/);
    expect(text).toMatch(/workspace\.lost +router +workspace=t-1/);
    expect(text).toMatch(/call\.queued +router +epoch=1/);
  });

  it('SB-2, PO-11: shows what was tried outside, and as whom', () => {
    const told = (type: string, attributes: Record<string, string>) =>
      ({ id: type, type, service: 'egress', at: 1_000, attributes }) as const;
    const attempt = { verdict: 'allowed', method: 'GET', host: 'a.example', credential: 'user:a', address: '::1' };
    const events = [
      told('call.accepted', { account: 'ada@a.example' }),
      told('egress.attempt', attempt),
      told('egress.attempt', { verdict: 'refused', reason: 'host_not_permitted', host: 'b.example' }),
    ];
    const text = drawTrace(CALL, { call, events, spans: [], payloads: [], cut: false });
    expect(text).toContain('account=ada@a.example');
    expect(text).toContain('verdict=allowed method=GET host=a.example credential=user:a');
    expect(text).toContain('verdict=refused reason=host_not_permitted host=b.example');
  });

  it('says so when nothing is stored, and when the call goes on', () => {
    expect(drawTrace(CALL, { events: [], spans: [], payloads: [], cut: false })).toContain('nothing is stored yet');
    const spans = [span('a', 'not-here', 'orphan', 0)];
    expect(drawTrace(CALL, { events: [], spans, payloads: [], cut: true })).toMatch(
      /has not ended yet[\s\S]*orphan[\s\S]*more events/,
    );
  });

  it('ends also for spans that name each other as parents', () => {
    const spans = [span('a', 'b', 'x', 0), span('b', 'a', 'y', 0)];
    expect(drawTrace(CALL, { events: [], spans, payloads: [], cut: false })).toContain('has not ended yet');
  });
});
