import { FabricError } from '@toolfabric/kernel';
import { WireMismatch } from '@toolfabric/proto';
import type { z } from 'zod';

/** `invalid_request` with the fields that do not fit; never with their values. */
export const invalidRequest = (error: z.ZodError): FabricError => {
  const fields = error.issues.map((issue) => ({ field: `/${issue.path.join('/')}`, expected: issue.message }));
  return new FabricError('invalid_request', 'the request does not fit', { fields });
};

export const invalidField = (field: string, expected: string): FabricError =>
  new FabricError('invalid_request', `${field}: ${expected}`, { fields: [{ field: `/${field}`, expected }] });

/** Reads one field of a request; what the wire can say and this side does not know is `invalid_request`. */
export const fromWire = <T>(field: string, read: () => T): T => {
  try {
    return read();
  } catch (thrown) {
    if (thrown instanceof WireMismatch) throw invalidField(field, thrown.message);
    throw thrown;
  }
};
