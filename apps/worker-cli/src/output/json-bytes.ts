/** Bytes that a value takes in a message. */
export const jsonBytes = (value: unknown): number => Buffer.byteLength(JSON.stringify(value));

/** Bytes of an output that are kept free for what stands around its largest part. */
export const OVERHEAD_BYTES = 2_048;
