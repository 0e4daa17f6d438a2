import type { FabricEvent } from '@toolfabric/contract';
import { sha256Hex } from '@toolfabric/kernel';
import { ADA, payloadEvent, plainEvent, settledEvent, spanOf, spansEvent } from '@toolfabric/trace-clickhouse/testing';
import { describe, expect, it } from 'vitest';
import { readEvent } from './read-event.ts';

const now = Date.now();
const read = (event: unknown, subject = 'event.router.acme') =>
  readEvent(subject, Buffer.from(typeof event === 'string' ? event : JSON.stringify(event)), now);

const from = (service: string, type: FabricEvent['type']) =>
  read({ ...plainEvent(1, type), service }, `event.${service}.acme`);

describe('events off the bus', () => {
  it('are taken as they are', () => {
    for (const event of [
      settledEvent(1),
      payloadEvent(1, { arguments: '{}', result: '{}' }),
      spansEvent([spanOf(1, 1)]),
      { ...plainEvent(2, 'worker.dead'), callId: undefined },
    ])
      expect(read(JSON.parse(JSON.stringify(event)))).toMatchObject({ id: event.id });
  });

  it.each<[string, unknown, string]>([
    ['no JSON', '{"id":', 'not_json'],
    ['bytes that are no text', '\ufffd\u0000', 'not_json'],
    ['another shape', { id: 'x' }, 'wrong_shape'],
    ['an unknown type', { ...plainEvent(1, 'call.accepted'), type: 'call.invented' }, 'wrong_shape'],
    ['a field too many', { ...plainEvent(1, 'call.accepted'), extra: 1 }, 'wrong_shape'],
    ['another tenant', { ...plainEvent(1, 'call.accepted'), tenant: 'rival' }, 'wrong_subject'],
    ['another service', { ...plainEvent(1, 'call.accepted'), service: 'gateway' }, 'wrong_subject'],
    [
      'an actor of another tenant',
      { ...plainEvent(1, 'call.accepted'), actor: { ...ADA, tenant: 'rival' } },
      'wrong_service',
    ],
    ['spans in an event that has none', { ...plainEvent(1, 'call.accepted'), spans: [spanOf(1, 1)] }, 'wrong_service'],
    [
      'payloads in an event that has none',
      { ...payloadEvent(1, { arguments: '', result: '' }), type: 'call.accepted' },
      'wrong_service',
    ],
    ['a time long ago', plainEvent(1, 'call.accepted', { at: 1 }), 'wrong_time'],
    ['a time to come', plainEvent(1, 'call.accepted', { at: now + 9 * 3_600_000 }), 'wrong_time'],
    [
      'a call of a week that cannot be',
      { ...plainEvent(1, 'call.accepted'), callId: `1234-${'0'.repeat(26)}` },
      'wrong_time',
    ],
    ['a span of another age', spansEvent([{ ...spanOf(1, 1), startUs: 5 }]), 'wrong_time'],
    [
      'a text under the hash of another',
      {
        ...payloadEvent(1, { arguments: '', result: '' }),
        payloads: [{ kind: 'result', sha256: sha256Hex('a'), bytes: 1, text: 'b', cut: false }],
      },
      'wrong_payload',
    ],
  ])('are refused with %s', (_name, event, why) => {
    expect(read(event)).toBe(why);
  });

  it.each<[string, FabricEvent['type'], boolean]>([
    ['gateway', 'call.refused', true],
    ['gateway', 'call.settled', false],
    ['artifacts', 'artifact.read', true],
    ['artifacts', 'call.settled', false],
    ['artifacts', 'task.ended', false],
    ['egress', 'egress.attempt', true],
    ['egress', 'credential.changed', true],
    ['gateway', 'credential.changed', false],
    ['egress', 'call.settled', false],
    ['egress', 'message.refused', false],
    ['worker-web', 'egress.attempt', false],
    ['worker-cli', 'message.refused', true],
    ['worker-cli', 'workspace.moved', true],
    ['worker-cli', 'call.settled', false],
    ['worker-cli', 'call.refused', false],
    ['worker-cli', 'call.payloads', false],
    ['worker-cli', 'task.ended', false],
  ])('of %s may be %s: %s', (service, type, taken) => {
    expect(typeof from(service, type)).toBe(taken ? 'object' : 'string');
  });
});
