import type { Pace, Span } from '@toolfabric/kernel';
import type { Identity } from './authenticate.ts';
import type { Patience } from './router-client.ts';

/** What a verb knows of its request beside the message. */
export interface RequestContext {
  readonly identity: Identity;
  /** Of this request; what is known of it meanwhile is noted there. */
  readonly span: Span;
  /** W3C trace context for the next hop; none while nobody traces. */
  readonly traceparent: string | undefined;
  /** Milliseconds until the caller's own deadline; infinite without one. */
  leftMs(): number;
  /** The caller went away or its deadline passed: nobody reads the answer. */
  isGone(): boolean;
  /** Calls back once when that happens; returns the way to stop. */
  onGone(listener: () => void): () => void;
}

/** For verbs that wait for nothing: two attempts, within the caller's deadline. */
export const patienceOf =
  ({ rpcAttemptMs }: Pick<Pace, 'rpcAttemptMs'>) =>
  ({ leftMs, isGone }: RequestContext): Patience => ({ limitMs: Math.min(2 * rpcAttemptMs, leftMs()), isGone });
