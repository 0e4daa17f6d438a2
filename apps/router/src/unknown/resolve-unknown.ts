import type { Approver, CallView, Evidence, Outcome, RpcRequest, UnknownEntry } from '@toolfabric/contract';
import { objectionToResolve } from '@toolfabric/governance';
import { FabricError } from '@toolfabric/kernel';
import { changeRecord, errorOutcome, moveClaim, stateOfOutcome, unknownKey } from '@toolfabric/ledger';
import { callEvent } from '../call-events.ts';
import { changeCall, readCall } from '../change-call.ts';
import { changeClaim, readClaim } from '../claims.ts';
import { closeCall } from '../close-call.ts';
import { openAgain } from '../reconcile.ts';
import type { RouterContext, StoredCall } from '../router-context.ts';
import type { RouterServices } from '../router-services.ts';
import { settleStored } from '../settle-call.ts';
import { viewCall } from '../view-call.ts';
import { readSeen } from './unknown-verbs.ts';

type Request = RpcRequest<'resolveUnknown'>;

const personEvidence = ({ user }: Approver, note: string | undefined): Evidence => ({
  kind: 'person',
  ref: user,
  ...(note === undefined ? {} : { detail: note }),
});

/** What a person said, as the end of the call. `happened` needs what proves it: otherwise it is not confirmed (RS-2). */
const outcomeOf = ({ approver, resolution, evidence, note }: Request): Outcome => {
  const said = personEvidence(approver, note);
  if (resolution === 'did_not_happen') {
    const error = errorOutcome('not_applied', 'A person checked it: the action did not happen, and will not any more.');
    return { ...error, evidence: [said] };
  }
  if (evidence === undefined)
    throw new FabricError('invalid_request', 'that it happened needs evidence', {
      fields: [{ field: '/evidence', expected: 'the id or address of what is there' }],
    });
  const { detail, ...proof } = evidence;
  return {
    status: 'ok',
    summary: `A person checked it: the action happened (${evidence.kind} ${evidence.ref}).`,
    sideEffect: 'confirmed',
    trust: 'trusted',
    evidence: [{ ...proof, ...(detail === undefined ? {} : { detail }) }, said],
  };
};

const emit = (ctx: RouterContext, call: StoredCall, { approver, resolution }: Request): void => {
  const { user, tokenId } = approver;
  const attributes = { resolution, person: user, token: tokenId };
  ctx.ports.events.emit(callEvent(ctx, call.value, 'unknown.resolved', `resolved.${resolution}`, attributes));
  if (resolution !== 'leave')
    ctx.ports.events.emit(callEvent(ctx, call.value, 'person.took_over', 'took_over.unknown', { person: user }));
};

/** Nobody asks any more; the call stays in sight of people, with who looked and what they saw. */
const leave = async (ctx: RouterContext, call: StoredCall, { approver, note }: Request): Promise<StoredCall> => {
  const { actor, callId } = call.value;
  const left = call.value.left ? undefined : await changeCall(ctx, call, { type: 'leave' });
  const after = left === undefined ? call : left.done ? left : (left.current ?? call);
  if (after.value.state !== 'unknown') return after;
  await closeCall(ctx, after);
  const seen: NonNullable<UnknownEntry['left']> = {
    user: approver.user,
    at: ctx.clock.now(),
    ...(note === undefined ? {} : { note }),
  };
  await changeRecord(
    ctx.ports.unknowns,
    unknownKey(actor.tenant, callId),
    (entry) => entry && { ...entry, left: seen },
    { clock: ctx.clock },
  );
  return after;
};

/** It ended by what this person said: what ended otherwise is not theirs to read. */
const isEndedSo = ({ value: { state, result } }: StoredCall, outcome: Outcome, { user }: Approver): boolean =>
  state === stateOfOutcome(outcome) && isSaidBy(result, user);

const isSaidBy = (result: CallView['result'], user: string): boolean =>
  result?.evidence?.some(({ kind, ref }) => kind === 'person' && ref === user) === true;

/** A receipt may have come first: what it brought forth is for who asked. */
const shownTo = ({ result, ...view }: CallView, { user }: Approver): CallView =>
  result === undefined || (view.state !== 'unknown' && !isSaidBy(result, user)) ? view : { ...view, result };

/**
 * Protocol 5, the person's move. The entry comes first: a call that was left has none, and a router that dies between
 * the claim and the record leaves the rest to the sweep. A receipt that comes later is late evidence (protocol 8).
 */
const settleAs = async (ctx: RouterContext, call: StoredCall, outcome: Outcome): Promise<StoredCall> => {
  await openAgain(ctx, call.value);
  const change = await changeClaim(ctx, call, (claim) => moveClaim(claim, { type: 'resolve', outcome, by: 'person' }));
  ctx.faults.at('router.after-resolve');
  const claim = change.done ? change.value : change.current?.value;
  if (claim?.state !== 'done' || claim.toldBy !== 'person') throw goesOn();
  return settleStored(ctx, call);
};

const goesOn = () => new FabricError('not_unknown', 'the call has moved on meanwhile: look at it again');

/**
 * What became of an unknown call, as a person says. Throws `not_found`, `forbidden`, `not_unknown`, or
 * `invalid_request` for a claim without evidence.
 */
export const resolveUnknown = async ({ ctx }: RouterServices, request: Request): Promise<CallView> => {
  const { approver, callId, resolution } = request;
  const call = await readSeen(ctx, approver, callId);
  const why = objectionToResolve(approver, call.value.actor);
  if (why !== undefined) throw new FabricError('forbidden', why);
  const outcome = resolution === 'leave' ? undefined : outcomeOf(request);
  // The answer to it was lost: the same again finds what it did.
  if (outcome !== undefined && isEndedSo(call, outcome, approver)) return viewCall(call.value);
  if (call.value.state !== 'unknown') throw new FabricError('not_unknown', `the call is ${call.value.state}`);
  const after = outcome === undefined ? await leave(ctx, call, request) : await settleAs(ctx, call, outcome);
  const now = (await readCall(ctx, approver.tenant, callId)) ?? after;
  emit(ctx, now, request);
  return shownTo(viewCall(now.value, await readClaim(ctx, now)), approver);
};
