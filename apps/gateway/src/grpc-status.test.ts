import { status } from '@grpc/grpc-js';
import { ERROR_TABLE, ERROR_TYPES } from '@toolfabric/contract';
import { FabricError } from '@toolfabric/kernel';
import { decodeErrorMetadata, ERROR_METADATA_KEY } from '@toolfabric/proto';
import { describe, expect, it } from 'vitest';
import { grpcCodeOf, toServiceError } from './grpc-status.ts';

describe('status codes', () => {
  it.each(ERROR_TYPES)('%s has a code that says something', (type) => {
    const code = grpcCodeOf(type);
    expect([status.OK, status.UNKNOWN, status.CANCELLED, status.DEADLINE_EXCEEDED]).not.toContain(code);
    if (code === status.UNAVAILABLE) expect(ERROR_TABLE[type].retryable).toBe(true);
  });

  it('only what repeating may mend is UNAVAILABLE', () => {
    expect(grpcCodeOf('unavailable')).toBe(status.UNAVAILABLE);
    expect(grpcCodeOf('task_ended')).toBe(status.FAILED_PRECONDITION);
    expect(grpcCodeOf('not_found')).toBe(status.NOT_FOUND);
  });

  it('RS-5: what is no FabricError keeps its text and its cause to itself', () => {
    const secret = 'password=hunter2';
    for (const thrown of [new Error(secret), secret, new FabricError('internal', 'm', { cause: new Error(secret) })]) {
      const error = toServiceError(thrown);
      const carried = error.metadata.get(ERROR_METADATA_KEY)[0] as Buffer;
      expect(`${error.details}${error.message}${carried}`).not.toContain('hunter2');
      expect(decodeErrorMetadata(carried)?.type).toBe('internal');
    }
  });

  it('cuts its text for the header without breaking a character', () => {
    const { details } = toServiceError(new FabricError('not_found', `${'x'.repeat(199)}💥 and more`));
    expect(() => encodeURI(details)).not.toThrow();
    expect(details.length).toBe(200);
  });
});
