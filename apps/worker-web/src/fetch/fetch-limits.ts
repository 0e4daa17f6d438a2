import { BODY_LIMITS, type BodyLimits } from '../content/decode-body.ts';

export interface FetchLimits {
  /** Redirects of one fetch that are followed. */
  readonly redirects: number;
  /** Milliseconds until the head of an answer is there. */
  readonly headMs: number;
  /** Milliseconds for the whole body. */
  readonly bodyMs: number;
  readonly body: BodyLimits;
}

export const FETCH_LIMITS: FetchLimits = { redirects: 10, headMs: 15_000, bodyMs: 30_000, body: BODY_LIMITS };
