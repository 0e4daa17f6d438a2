/** Bytes that one message may hold on the bus. */
export const MAX_MESSAGE_BYTES = 64 * 1024;
/** Bytes of a tool's data and content inside a result message. */
export const MAX_OUTPUT_BYTES = 48 * 1024;
/** Bytes of canonical JSON that the arguments of one call may take. */
export const MAX_ARGUMENT_BYTES = 32 * 1024;
/** Levels of nesting in arguments. */
export const MAX_DEPTH = 32;
/** Milliseconds of leeway wherever two clocks are compared. */
export const CLOCK_LEEWAY_MS = 30_000;
export const WEEK_MS = 604_800_000;
/** Weeks of calls that are kept: one less than the ring has slots. */
export const RING_SLOTS = 8;
/** The router writes `dead_letter` past this epoch. */
export const MAX_EPOCH = 3;
export const OPEN_SHARDS = 16;
