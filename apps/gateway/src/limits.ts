/** What one caller may ask of a gateway. */
export interface GatewayLimits {
  /** Bytes of one request; more than the arguments of a call may take, so that these are refused by name. */
  readonly messageBytes: number;
  /** Requests in flight for one token, waiting ones and watches included. */
  readonly requestsPerToken: number;
  /** Calls that this process waits for or watches. Past it a caller gets its handle at once. */
  readonly pendingCalls: number;
  /** Milliseconds that `Call` waits when the caller does not say. */
  readonly defaultWaitMs: number;
  readonly longestWaitMs: number;
}

export const LIMITS: GatewayLimits = {
  messageBytes: 256 * 1024,
  requestsPerToken: 512,
  pendingCalls: 10_000,
  defaultWaitMs: 30_000,
  longestWaitMs: 120_000,
};
