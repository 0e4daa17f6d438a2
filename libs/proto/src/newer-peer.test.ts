import type { ToolError } from '@toolfabric/contract';
import { describe, expect, it } from 'vitest';
import { callViewFromWire } from './convert-call.ts';
import { contentBlockFromWire } from './convert-content.ts';
import { toolErrorFromWire } from './convert-error.ts';
import { workspaceSourceFromWire } from './convert-task.ts';
import { enumCodec, WireMismatch } from './enum-codec.ts';
import { decodeErrorMetadata, encodeErrorMetadata } from './error-metadata.ts';
import * as wireCall from './gen/toolfabric/v1/call.ts';
import * as wireResult from './gen/toolfabric/v1/result.ts';

const error = (changes: Partial<ToolError> = {}): ToolError => ({
  type: 'overloaded',
  layer: 'runtime',
  message: 'the queue is full',
  retryable: true,
  ...changes,
});

describe('a peer of a newer revision', () => {
  it('sends an error type that is not known here: internal, with what the caller may do', () => {
    const wire = {
      type: 'new_in_v9',
      layer: 99,
      message: 'm',
      retryable: true,
      retryAfterMs: 5,
      hint: 'h',
      fields: [],
    };
    const known = { type: 'internal', layer: 'runtime', message: 'm', retryable: true, retryAfterMs: 5, hint: 'h' };
    expect(toolErrorFromWire(wire as never)).toEqual(known);
    const bytes = Buffer.from(JSON.stringify({ ...wire, layer: 'moon', fields: [{ what: 1 }], more: 1 }));
    expect(decodeErrorMetadata(bytes)).toEqual(known);
  });

  it('sends a kind of content that is not known here: a line says so', () => {
    expect(contentBlockFromWire({ block: undefined })).toMatchObject({ type: 'text' });
  });

  it.each([
    ['state', { state: 0 }],
    ['state', { state: 77 }],
    ['result status', { state: 6, result: { ...wireResult.ToolResult.decode(new Uint8Array()), status: 50 } }],
  ])('never guesses a %s: %j', (what, changes) => {
    const empty = wireCall.CallView.decode(new Uint8Array());
    expect(() => callViewFromWire({ ...empty, ...changes } as wireCall.CallView)).toThrow(WireMismatch);
    expect(() => callViewFromWire({ ...empty, ...changes } as wireCall.CallView)).toThrow(what);
  });

  it('never guesses where a task works', () => {
    expect(() => workspaceSourceFromWire({ source: undefined })).toThrow(WireMismatch);
  });

  it('content that does not say that it is trusted is untrusted', () => {
    const empty = wireCall.CallView.decode(new Uint8Array());
    const result = { ...wireResult.ToolResult.decode(new Uint8Array()), status: 1, sideEffect: 1 };
    const view = callViewFromWire({ ...empty, state: 6, result } as wireCall.CallView);
    expect(view.result?.trust).toBe('untrusted');
  });

  it('is found out at start when the wire lacks a label of the contract', () => {
    expect(() => enumCodec('colour', { UNSPECIFIED: 0, RED: 1 }, ['red', 'blue'])).toThrow('blue');
    expect(() => enumCodec('colour', { UNSPECIFIED: 0 }, ['unspecified'])).toThrow('unspecified');
  });
});

describe('an error in metadata', () => {
  it('comes back as it was', () => {
    const whole = error({ retryAfterMs: 40, hint: 'wait', fields: [{ field: '/a', expected: 'b' }] });
    expect(decodeErrorMetadata(encodeErrorMetadata(whole))).toEqual(whole);
    expect(decodeErrorMetadata(encodeErrorMetadata(error()))).toEqual(error());
  });

  it('stays within a header: loses fields first, then the end of its message', () => {
    const fields = Array.from({ length: 50 }, (_, i) => ({ field: `/f${i}`, expected: 'x'.repeat(300) }));
    const many = encodeErrorMetadata(error({ fields }));
    expect(many.length).toBeLessThanOrEqual(6 * 1024);
    expect(decodeErrorMetadata(many)?.fields?.length).toBeGreaterThan(5);
    const long = encodeErrorMetadata(error({ message: '漢'.repeat(4096), hint: '字'.repeat(1024), fields }));
    expect(long.length).toBeLessThanOrEqual(6 * 1024);
    expect(decodeErrorMetadata(long)).toMatchObject({ type: 'overloaded', retryable: true });
  });

  it.each(['', 'null', '[]', '{"type":1}', '{"type":"internal","message":"m"}', '{', '\u0000'])('is none: %j', (text) =>
    expect(decodeErrorMetadata(Buffer.from(text))).toBeUndefined(),
  );
});
