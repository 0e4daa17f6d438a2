import { type Approver, CallId, type RpcReply, type UnknownCall, type UnknownEntry } from '@toolfabric/contract';
import { maySeeUnknown } from '@toolfabric/governance';
import { FabricError } from '@toolfabric/kernel';
import { unknownKey, unknownPrefix } from '@toolfabric/ledger';
import type { Versioned } from '@toolfabric/ports';
import { readCall } from '../change-call.ts';
import type { RouterContext, StoredCall } from '../router-context.ts';
import type { RouterServices } from '../router-services.ts';
import { listedUnknown, showUnknown } from './show-unknown.ts';

/** Entries that one listing reads at most; the page then ends early. */
const MOST_READ = 500;
/** Bytes of one page, below what an answer may hold. */
const PAGE_BYTES = 100_000;

const nothing = () => new FabricError('not_found', 'there is no such call');

/** The call as this person may see it, unknown or not any more. */
export const readSeen = async (ctx: RouterContext, approver: Approver, callId: string): Promise<StoredCall> => {
  const call = CallId.safeParse(callId).success ? await readCall(ctx, approver.tenant, callId) : undefined;
  if (!call || !maySeeUnknown(approver, call.value.actor)) throw nothing();
  return call;
};

export const readEntry = (
  ctx: RouterContext,
  tenant: string,
  callId: string,
): Promise<Versioned<UnknownEntry> | undefined> => ctx.ports.unknowns.get(unknownKey(tenant, callId));

const shownOf = async (ctx: RouterContext, approver: Approver, key: string): Promise<UnknownCall | undefined> => {
  const entry = await ctx.ports.unknowns.get(key);
  if (entry === undefined || !maySeeUnknown(approver, entry.value.actor)) return undefined;
  const call = await readCall(ctx, approver.tenant, entry.value.callId);
  return call?.value.state === 'unknown' ? listedUnknown(await showUnknown(ctx, call, entry.value)) : undefined;
};

/** Oldest week first. What is known by now is not in it. */
export const listUnknown = async (
  { ctx }: RouterServices,
  { approver, after, limit }: { approver: Approver; after?: string | undefined; limit: number },
): Promise<RpcReply<'listUnknown'>> => {
  const prefix = unknownPrefix(approver.tenant);
  const keys = (await ctx.ports.unknowns.keys(prefix)).sort();
  const rest = after === undefined ? keys : keys.filter((key) => key > `${prefix}.${after}`);
  const unknown: UnknownCall[] = [];
  let bytes = 0;
  for (const [index, key] of rest.entries()) {
    const isFull = unknown.length >= limit || index >= MOST_READ || bytes > PAGE_BYTES;
    const last = rest[index - 1];
    if (isFull && last !== undefined) return { unknown, next: last.slice(prefix.length + 1) };
    const shown = await shownOf(ctx, approver, key);
    if (shown === undefined) continue;
    unknown.push(shown);
    bytes += Buffer.byteLength(JSON.stringify(shown));
  }
  return { unknown };
};

export const getUnknown = async (
  { ctx }: RouterServices,
  { approver, callId }: { approver: Approver; callId: string },
): Promise<UnknownCall> => {
  const call = await readSeen(ctx, approver, callId);
  if (call.value.state !== 'unknown') throw new FabricError('not_unknown', `the call is ${call.value.state}`);
  return showUnknown(ctx, call, (await readEntry(ctx, approver.tenant, callId))?.value);
};
