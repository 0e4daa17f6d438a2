/** Bytes of an answer that a message of the bus certainly takes. */
export const MAX_ANSWER_BYTES = 130 * 1024;

export const sizeOf = (value: unknown): number => Buffer.byteLength(JSON.stringify(value));
