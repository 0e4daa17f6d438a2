import { type CallView, RPC, type RpcReply, type RpcRequest, type RpcVerb, ToolError } from '@toolfabric/contract';
import { type Clock, FabricError, type Pace } from '@toolfabric/kernel';
import { type GatewayPorts, RequestUnanswered } from '@toolfabric/ports';
import { invalidRequest } from './invalid-request.ts';

const FIRST_PAUSE_MS = 25;
const LONGEST_PAUSE_MS = 400;

/** How long a request may be repeated, and whether anybody still waits for it. */
export interface Patience {
  readonly limitMs: number;
  isGone(): boolean;
}

/** Asks the router, and asks again when nobody answered: every verb is create-or-verify, so that repeating is safe. */
export class RouterClient {
  readonly #ports: GatewayPorts;
  readonly #clock: Clock;
  readonly #attemptMs: number;

  constructor(ports: GatewayPorts, clock: Clock, pace: Pick<Pace, 'rpcAttemptMs'>) {
    this.#ports = ports;
    this.#clock = clock;
    this.#attemptMs = pace.rpcAttemptMs;
  }

  /** For the verbs of a running call, whose answers are not validated again: what turns them into the wire refuses what it cannot say. */
  async view(verb: 'call' | 'getCall' | 'cancelCall', body: string, patience: Patience): Promise<CallView> {
    return (await this.#ask(verb, body, patience)) as CallView;
  }

  /** Throws `invalid_request` with the fields that do not fit. */
  async ask<V extends RpcVerb>(verb: V, request: RpcRequest<V>, patience: Patience): Promise<RpcReply<V>> {
    const checked = RPC[verb].request.safeParse(request);
    if (!checked.success) throw invalidRequest(checked.error);
    const reply = RPC[verb].reply.safeParse(await this.#ask(verb, JSON.stringify(checked.data), patience));
    if (!reply.success) throw notUnderstood(reply.error);
    return reply.data as RpcReply<V>;
  }

  /** The `ok` of the reply; throws its `error`, and `unavailable` when nobody answered within the limit. */
  async #ask(verb: RpcVerb, body: string, { limitMs, isGone }: Patience): Promise<unknown> {
    const until = this.#clock.monotonic() + limitMs;
    let pauseMs = FIRST_PAUSE_MS;
    for (;;) {
      const left = Math.max(1, until - this.#clock.monotonic());
      try {
        return okOf(await this.#ports.request(verb, body, Math.min(left, this.#attemptMs)));
      } catch (thrown) {
        if (!(thrown instanceof RequestUnanswered)) throw thrown;
        if (isGone() || this.#clock.monotonic() + pauseMs >= until) {
          throw new FabricError('unavailable', 'no router answered', { cause: thrown });
        }
        await this.#clock.sleep(pauseMs);
        pauseMs = Math.min(pauseMs * 2, LONGEST_PAUSE_MS);
      }
    }
  }
}

const okOf = (text: string): unknown => {
  const reply = parse(text);
  if (reply.error !== undefined) {
    const error = ToolError.safeParse(reply.error);
    throw error.success ? FabricError.fromToolError(error.data) : notUnderstood(error.error);
  }
  if (reply.ok === undefined) throw notUnderstood();
  return reply.ok;
};

const parse = (text: string): { ok?: unknown; error?: unknown } => {
  try {
    const reply: unknown = JSON.parse(text);
    if (typeof reply === 'object' && reply !== null) return reply;
  } catch {
    // Falls through: what is no object is not understood either.
  }
  throw notUnderstood();
};

const notUnderstood = (cause?: unknown) =>
  new FabricError('internal', 'the router answered in a way that the gateway does not understand', { cause });
