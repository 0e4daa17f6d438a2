import type { Claim, Outcome, WorkBody } from '@toolfabric/contract';
import { FabricError, type Json } from '@toolfabric/kernel';
import { type Change, type ClaimMove, changeRecord, claimKey, isLive, moveClaim } from '@toolfabric/ledger';
import type { WorkerContext } from './worker-context.ts';

/** Whether the holder may go on, learnt by reading the claim again. */
export type ClaimCheck = 'held' | 'cancel_requested' | 'lost';

/**
 * A claim that might be held is never left alone by a living process, or nobody could end it: its writes are tried
 * until they are answered, or until this process must stop and can be declared dead.
 */
const patient = (ctx: WorkerContext) => ({
  clock: ctx.clock,
  patienceMs: Number.POSITIVE_INFINITY,
  signal: ctx.halt.signal,
});

/**
 * The claim of one execution, as its holder sees it. Every write is a compare-and-set on one key; the nonce, which
 * only this object knows, tells an own write whose answer was lost from a foreign one.
 */
export class HeldClaim {
  #claim: Claim;
  #revision: number;
  readonly #ctx: WorkerContext;
  readonly #key: string;

  private constructor(ctx: WorkerContext, key: string, claim: Claim, revision: number) {
    this.#ctx = ctx;
    this.#key = key;
    this.#claim = claim;
    this.#revision = revision;
  }

  /** The claim when it could be taken, otherwise what stands there. */
  static async take(
    ctx: WorkerContext,
    body: WorkBody,
    sequence: number,
  ): Promise<{ held: HeldClaim } | { found: Claim | undefined }> {
    const key = claimKey(ctx.kind, body.tenant, body.callId);
    const { incarnation } = ctx;
    const move: ClaimMove = { type: 'take', epoch: body.epoch, sequence, incarnation, nonce: ctx.nonce() };
    const change = await changeRecord(ctx.ports.claims, key, (claim) => moveClaim(claim, move), {
      ...patient(ctx),
      ...(body.epoch === 1 ? { believed: 'absent' as const } : {}),
    });
    return change.done
      ? { held: new HeldClaim(ctx, key, change.value, change.revision) }
      : { found: change.current?.value };
  }

  get nonce(): string {
    return this.#claim.nonce;
  }

  get hasStarted(): boolean {
    return this.#claim.state === 'started';
  }

  /** Protocol 5: stored before the first byte of an effect. Throws when the claim is lost or the call is cancelled. */
  async start(intent: Json): Promise<void> {
    const change = await this.#move({ type: 'start', nonce: this.nonce, intent });
    if (!change.done)
      throw new FabricError('cancelled', 'the call was cancelled or taken away before its effect began');
  }

  /** The outcome as it is stored; undefined when the claim is not this holder's any more. */
  async finish(outcome: Outcome): Promise<Outcome | undefined> {
    const change = await this.#move({ type: 'finish', nonce: this.nonce, outcome });
    return change.done ? change.value.outcome : undefined;
  }

  async check(): Promise<ClaimCheck> {
    const stored = await this.#ctx.ports.claims.get(this.#key);
    if (!stored || stored.value.nonce !== this.nonce || !isLive(stored.value)) return 'lost';
    return stored.value.cancelRequested ? 'cancel_requested' : 'held';
  }

  async #move(move: ClaimMove): Promise<Change<Claim>> {
    const believed = { value: this.#claim, revision: this.#revision };
    const options = { ...patient(this.#ctx), believed };
    const change = await changeRecord(this.#ctx.ports.claims, this.#key, (claim) => moveClaim(claim, move), options);
    if (change.done) {
      this.#claim = change.value;
      this.#revision = change.revision;
    }
    return change;
  }
}
