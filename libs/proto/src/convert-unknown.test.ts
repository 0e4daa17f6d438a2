import { Resolution, UnknownCall } from '@toolfabric/contract';
import { describe, expect, it } from 'vitest';
import { resolutionFromWire, resolutionToWire, unknownFromWire, unknownToWire } from './convert-unknown.ts';
import { WireMismatch } from './enum-codec.ts';
import * as wire from './gen/toolfabric/v1/unknown_service.ts';

const least: UnknownCall = {
  callId: '2969-a',
  taskId: 't-a',
  actor: { tenant: 'acme', user: 'ada', agent: 'coder' },
  tool: { name: 'issue.comment', version: '1.0.0' },
  createdAt: 1,
  unknownAt: 2,
  epoch: 1,
  summary: 'lost',
  what: 'comment',
  reconciling: false,
  asked: 0,
  doubt: false,
};
const whole: UnknownCall = {
  ...least,
  risk: 'external_write',
  resource: 'r',
  account: 'bot',
  evidence: [{ kind: 'k', ref: 'r' }],
  reconciling: true,
  asked: 3,
  answered: 'not_visible',
  doubt: true,
  left: { user: 'grace', at: 5, note: 'n' },
};

const overTheWire = (call: UnknownCall): UnknownCall =>
  unknownFromWire(wire.UnknownCall.decode(wire.UnknownCall.encode(unknownToWire(call)).finish()));

describe('unknown calls on the wire', () => {
  it.each([
    ['whole', whole],
    ['without what may be left out', least],
    ['absent', { ...whole, answered: 'absent' as const }],
    ['failed', { ...whole, answered: 'failed' as const, left: { user: 'grace', at: 5 } }],
  ])('come back as they went, %s', (_name, call) => {
    expect(overTheWire(call)).toEqual(call);
    expect(() => UnknownCall.parse(overTheWire(call))).not.toThrow();
  });

  it('of a newer peer lose what is not known here, and nothing else', () => {
    const newer = { ...unknownToWire(whole), risk: 'of_later', answered: 77 as wire.ProbeAnswer };
    const { risk, answered, ...rest } = whole;
    expect(unknownFromWire(newer)).toEqual(rest);
    expect(() => unknownFromWire({ ...unknownToWire(least), actor: undefined })).toThrow(WireMismatch);
  });

  it.each(Resolution.options)('the resolution %s', (resolution) => {
    expect(resolutionFromWire(resolutionToWire(resolution))).toBe(resolution);
  });

  it('a resolution of a newer peer is not guessed', () => {
    expect(() => resolutionFromWire(wire.Resolution.UNSPECIFIED)).toThrow(WireMismatch);
  });
});
