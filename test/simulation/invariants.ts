import type { CallRecord, Claim, WorkBody } from '@toolfabric/contract';
import type { LogFields } from '@toolfabric/kernel';
import { isAnswered, isFinal, isLive, openKey, operationAfter } from '@toolfabric/ledger';
import type { SimCluster } from './sim-cluster.ts';
import type { World } from './world.ts';

/** Checks L1–L6 while a run goes on and at its end; keeps what it finds. */
export class Violations {
  readonly found: string[] = [];

  #add(text: string): void {
    this.found.push(text);
  }

  onLogged(event: string, fields: LogFields = {}): void {
    const { cause } = fields;
    const expected = cause === undefined || cause === 'StoreUnavailable' || cause === 'store unavailable';
    if (!expected || fields['type'] === 'internal') this.#add(`${event}: ${JSON.stringify(fields)}`);
  }

  /** L2: a final state never changes. */
  onCallWrite(before: CallRecord | undefined, after: CallRecord): void {
    if (before && isFinal(before.state) && before.state !== after.state)
      this.#add(`L2: ${after.callId} went from ${before.state} to ${after.state}`);
    if (before && isFinal(before.state) && JSON.stringify(before.result) !== JSON.stringify(after.result))
      this.#add(`L2: ${after.callId} changed its result after ${before.state}`);
    if (isAnswered(after.state) && after.result === undefined) this.#add(`L2: ${after.callId} ended without a result`);
  }

  /** L5, and protocol 3: nothing is published before the call is queued. */
  onWorkPublished(body: WorkBody, call: CallRecord | undefined): void {
    if (call === undefined) return this.#add(`${body.callId} was published without a record`);
    if (call.state === 'awaiting_approval' || call.state === 'accepted' || call.state === 'joined')
      this.#add(`L5: ${body.callId} was published while ${call.state}`);
    if (body.mode === 'run' && body.epoch > call.epoch) this.#add(`${body.callId} was published before its epoch`);
  }

  /**
   * Protocol 5 and 9: the message of a background call is gone while it runs, and says nothing about its holder. An
   * execution is taken from the dead alone: released when it was only claimed, orphaned when it had started.
   */
  onClaimWrite(cluster: SimCluster, before: Claim | undefined, after: Claim): void {
    if (!isLive(before) || before === undefined) return;
    const isTaken = after.state === 'released' || (after.state === 'orphaned' && before.doubt !== true);
    if (!isTaken) return;
    const what = `epoch ${before.epoch} of ${before.incarnation} went from ${before.state} to ${after.state}`;
    if (cluster.isAlive(before.incarnation)) this.#add(`L6: ${what} while its holder lives`);
    if ((before.state === 'started') !== (after.state === 'orphaned')) this.#add(`L1: ${what}`);
  }

  /** L6: what is acknowledged was stored, or somebody else answers for it. */
  onWorkAcknowledged(
    cluster: SimCluster,
    sequence: number,
    sent: { callId: string; epoch: number; mode: string; background: boolean },
  ): void {
    const { callId, epoch } = sent;
    if (cluster.hasResult(callId, epoch) || cluster.dead.has(sequence)) return;
    const claim = cluster.claimOf(callId);
    const call = cluster.callOf(callId);
    // An unknown call is settled from its claim, whatever becomes of the message.
    if (call && isAnswered(call.state)) return;
    const elsewhere =
      claim !== undefined &&
      (claim.epoch > epoch ||
        claim.state === 'cancelled' ||
        claim.state === 'orphaned' ||
        // The claim of a background call answers for it (protocol 9); that of another has to be of another message.
        (isLive(claim) && (sent.background ? claim.epoch === epoch : claim.sequence !== sequence)));
    if (!elsewhere) this.#add(`L6: ${callId} epoch ${epoch} was acknowledged without a result`);
  }

  /** Everything that can only be said at the end. `accepted` are the calls whose two records were stored at some time. */
  atEnd(cluster: SimCluster, world: World, accepted: ReadonlySet<string>): void {
    for (const callId of accepted) this.#checkCall(cluster, world, callId);
    for (const identity of new Set(world.truth.map((entry) => entry.identity)))
      if (world.count(identity) > 1) this.#add(`L1: ${identity} happened ${world.count(identity)} times`);
    for (const entry of world.truth) this.#checkTruth(cluster, entry.callId, entry.argsHash);
  }

  #checkCall(cluster: SimCluster, world: World, callId: string): void {
    const call = cluster.callOf(callId);
    if (!call) return this.#add(`L2: the record of ${callId} is gone`);
    if (!isAnswered(call.state)) return this.#add(`L2: ${callId} is ${call.state} for ever`);
    if (!cluster.events.has(`${callId}:settled.${call.state}`))
      this.#add(`L2: ${callId} has no event of its end ${call.state}`);
    if (cluster.open.values.has(openKey(call.actor.tenant, callId)))
      this.#add(`${callId} ended ${call.state}, but is still open`);
    const identity = call.operation ?? callId;
    if (call.state === 'ok' && call.effect !== 'none' && !world.has(identity))
      this.#add(`L3: ${callId} is ok without its effect`);
    const { data } = call.result ?? {};
    if (
      call.state === 'ok' &&
      !(data !== null && typeof data === 'object' && 'failed' in data && data.failed === false)
    )
      this.#add(`L3: ${callId} is ok, though its answer says that it failed`);
    const own = world.truth.some((entry) => entry.callId === callId);
    if (isFinal(call.state) && call.state !== 'ok' && call.result?.sideEffect === 'none' && own)
      this.#add(`L3: ${callId} is ${call.state}, but had an effect`);
    const op = call.operation === undefined ? undefined : cluster.operations.values.get(call.operation)?.value;
    // Taken by a router after another one had ended the call: the next call that wants it frees it (protocol 4).
    const isFreed = operationAfter(call) === 'free';
    if (op?.callId === callId && isFinal(call.state) && op.state === 'held' && !isFreed)
      this.#add(`${callId} ended, but holds its operation`);
  }

  #checkTruth(cluster: SimCluster, callId: string, argsHash: string): void {
    const call = cluster.callOf(callId);
    if (!call) return this.#add(`L4: an effect without a call: ${callId}`);
    if (call.argsHash !== argsHash) this.#add(`L4: ${callId} had an effect over other arguments`);
    if (call.approvalId === undefined) return;
    const approval = [...cluster.approvals.values.values()].find(
      (stored) => stored.value.approvalId === call.approvalId,
    );
    if (approval?.value.state !== 'consumed' || approval.value.argsHash !== argsHash)
      this.#add(`L4: ${callId} had an effect without its approval`);
  }
}
