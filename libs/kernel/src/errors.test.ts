import { ERROR_TYPES, ToolError } from '@toolfabric/contract';
import { describe, expect, it } from 'vitest';
import { FabricError, toFabricError } from './errors.ts';

describe('FabricError', () => {
  it.each(ERROR_TYPES)('RS-2: %s can be sent, and comes back as it went', (type) => {
    const sent = new FabricError(type, 'what happened', { cause: new Error('private') }).toToolError();
    expect(ToolError.parse(JSON.parse(JSON.stringify(sent)))).toEqual(sent);
    expect(FabricError.fromToolError(sent).toToolError()).toEqual(sent);
    expect(JSON.stringify(sent)).not.toContain('private');
  });

  it('can be sent whatever it was given', () => {
    const fields = Array.from({ length: 500 }, (_, i) => ({ field: `/${i}`, expected: 'x' }));
    const long = 'x'.repeat(100_000);
    for (const retryAfterMs of [0.5, 1e9, -3]) {
      const sent = new FabricError('overloaded', long, { hint: long, fields, retryAfterMs }).toToolError();
      expect(ToolError.safeParse(sent).success).toBe(true);
    }
  });
});

describe('toFabricError', () => {
  it('keeps a typed error, and gives nothing away of any other', () => {
    const typed = new FabricError('not_found', 'there is no such call');
    expect(toFabricError(typed)).toBe(typed);
    for (const thrown of [new Error('password=1'), new TypeError('password=1'), 'password=1', { password: 1 }, null]) {
      const error = toFabricError(thrown, 'tool_failed');
      expect(error.type).toBe('tool_failed');
      expect(JSON.stringify(error.toToolError())).not.toContain('password');
      expect(error.details.cause).toBe(thrown);
    }
  });
});
