import type { ApprovalRecord, RPC, RpcReply } from '@toolfabric/contract';
import { maySee } from '@toolfabric/governance';
import { approvalKey } from '@toolfabric/ledger';
import type { z } from 'zod';
import type { RouterServices } from '../router-services.ts';
import type { ApprovalBook, BookEntry } from './approval-book.ts';
import { decideApproval } from './decide-approval.ts';
import { readApproval } from './read-approval.ts';
import { tellApproval } from './tell-approval.ts';

type Request<V extends keyof typeof RPC> = z.output<(typeof RPC)[V]['request']>;

/** Bytes of one page: the previews may be long. */
const PAGE_BYTES = 100_000;

type Listing = Request<'listApprovals'>;

/** The place of an entry in its listing: by age what is pending, by its last change everything else. */
type Place = readonly [number, string];

const placeIn = ({ since, decided }: Listing, entry: BookEntry): Place =>
  since === undefined && !decided ? [entry.createdAt, entry.approvalId] : [entry.revision, ''];

const isBefore = (a: Place, b: Place): number => a[0] - b[0] || (a[1] < b[1] ? -1 : a[1] > b[1] ? 1 : 0);

/** By order and not by equality: what the last page ended with may be answered by now. */
const placeOf = (cursor: string): Place => {
  const [, number = '0', id = ''] = /^(\d{1,15})\.([a-z0-9-]{0,64})$/.exec(cursor) ?? [];
  return [Number(number), id];
};

const entriesFor = (book: ApprovalBook, listing: Listing): BookEntry[] => {
  const { approver, since, decided, after } = listing;
  const all = since === undefined && !decided ? book.pending : book.all;
  const past = after === undefined ? undefined : placeOf(after);
  return all
    .filter((entry) => maySee(approver, entry) && (since === undefined || entry.revision > since))
    .map((entry) => ({ entry, place: placeIn(listing, entry) }))
    .filter(({ place }) => past === undefined || isBefore(past, place) < 0)
    .sort((a, b) => isBefore(a.place, b.place))
    .map(({ entry }) => entry);
};

export const listApprovals = async (
  { ctx, approvals: book }: RouterServices,
  request: Request<'listApprovals'>,
): Promise<RpcReply<'listApprovals'>> => {
  const { approver, limit, since } = request;
  await book.refresh();
  const { revision } = book;
  const entries = entriesFor(book, request);
  const wanted = entries.slice(0, limit);
  const keyOf = ({ approvalId }: BookEntry) => approvalKey(approver.tenant, approvalId);
  const found = await Promise.all(wanted.map((entry) => ctx.ports.approvals.get(keyOf(entry))));
  const page: ApprovalRecord[] = [];
  let left = PAGE_BYTES;
  let last: BookEntry | undefined;
  for (const [index, entry] of wanted.entries()) {
    const record = found[index]?.value;
    left -= record === undefined ? 0 : Buffer.byteLength(JSON.stringify(record));
    if (left < 0 && page.length > 0) break;
    last = entry;
    if (record !== undefined && maySee(approver, record)) page.push(tellApproval(ctx, record));
  }
  const ends = last === undefined || last === entries.at(-1) ? undefined : last;
  return {
    approvals: page,
    revision: ends === undefined || since === undefined ? revision : ends.revision,
    ...(ends === undefined ? {} : { next: placeIn(request, ends).join('.') }),
  };
};

export const getApproval = (
  { ctx }: RouterServices,
  { approver, approvalId }: Request<'getApproval'>,
): Promise<ApprovalRecord> => readApproval(ctx, approver, approvalId).then((found) => tellApproval(ctx, found));

export const decideOne = (
  { ctx }: RouterServices,
  { approvalId, ...answer }: Request<'decideApproval'>,
): Promise<ApprovalRecord> => decideApproval(ctx, approvalId, answer).then((found) => tellApproval(ctx, found));
