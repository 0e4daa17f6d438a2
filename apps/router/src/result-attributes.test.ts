import type { ToolResult } from '@toolfabric/contract';
import { describe, expect, it } from 'vitest';
import { resultAttributes } from './result-attributes.ts';

const result = (more: Partial<ToolResult> = {}): ToolResult => ({
  status: 'ok',
  summary: 'done',
  sideEffect: 'none',
  trust: 'untrusted',
  callId: 'c',
  tool: { name: 'a.b', version: '1.0.0' },
  attempt: 1,
  ...more,
});

describe('TR-1: what is told of a result', () => {
  it('bytes of data and content, and how many artifacts', () => {
    expect(resultAttributes(result())).toMatchObject({ resultBytes: 0, artifacts: 0, truncated: false });
    const data = { text: 'ä'.repeat(10) };
    const full = resultAttributes(result({ data, content: [{ type: 'text', text: 'x' }], artifacts: ['a', 'b'] }));
    expect(full).toMatchObject({ artifacts: 2 });
    expect(full['resultBytes']).toBe(Buffer.byteLength(JSON.stringify([data, [{ type: 'text', text: 'x' }]])));
  });

  it('how many bytes were left out, over all streams that are counted in bytes', () => {
    const truncation: ToolResult['truncation'] = [
      { stream: 'stdout', kept: 10, total: 100, unit: 'bytes' },
      { stream: 'stderr', kept: 5, total: 8, unit: 'bytes' },
      { stream: 'matches', kept: 1, total: 900, unit: 'items' },
    ];
    expect(resultAttributes(result({ truncation }))).toMatchObject({ truncated: true, truncatedTotal: 93 });
    const items = resultAttributes(result({ truncation: truncation.slice(2) }));
    expect(items).toMatchObject({ truncated: true, truncatedTotal: 0 });
  });

  it.each([
    [{ exit_code: 0 }, 0],
    [{ exit_code: 137 }, 137],
    [{ exit_code: '1' }, undefined],
    [{ exit_code: null }, undefined],
    [{ exit_code: 0.5 }, undefined],
    [['exit_code'], undefined],
    [null, undefined],
    ['exit_code', undefined],
  ])('exit code of %j: %s', (data, code) => {
    expect(resultAttributes(result({ data }))['exitCode']).toBe(code);
  });

  it('nothing of what it says', () => {
    const secret = 'a-secret-text';
    const error = { type: 'tool_failed', layer: 'tool', message: secret, retryable: false, hint: secret } as const;
    const said = resultAttributes(
      result({ summary: secret, data: secret, error, evidence: [{ kind: 'file', ref: secret }], origin: secret }),
    );
    expect(JSON.stringify(said)).not.toContain(secret);
    expect(said).toMatchObject({ error: 'tool_failed', errorLayer: 'tool' });
  });

  it('a call that never ran', () => {
    expect(resultAttributes(undefined)).toEqual({ sideEffect: 'none', attempt: 0, error: '', errorLayer: '' });
  });
});
