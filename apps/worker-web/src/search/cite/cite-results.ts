import { sha256Hex } from '@toolfabric/kernel';
import type { ToolContext } from '@toolfabric/worker-runtime';
import { getDomain } from 'tldts';
import { cleanUntrusted } from '../../content/clean-untrusted.ts';
import { type Copy, storeCopy } from '../../tools/store-copies.ts';
import { pathOf } from '../local/folder-address.ts';
import { canonicalAddress } from '../merge/canonical-address.ts';
import type { Merged } from '../merge/merge-results.ts';
import { isNear, type SimHash, simHash } from '../merge/simhash.ts';
import type { CitedResult } from './check-citations.ts';
import { pickSnippets, type Wanted } from './pick-snippets.ts';
import { type DocumentRead, type ReaderDriver, readDocument } from './read-document.ts';

export interface CiteOptions {
  /** Results that are told. */
  readonly results: number;
  /** Pages of the web that are read, from the first on; files of the folder are read always. */
  readonly read: number;
  /** Snippets of each. */
  readonly snippets: number;
  readonly wanted: Wanted;
  /** Milliseconds since the epoch: what is not read by then is told without its text. */
  readonly until: number;
}

interface Looked {
  readonly merged: Merged;
  /** Undefined where it was not to be read. */
  readonly document: DocumentRead | undefined;
  readonly print: SimHash | undefined;
}

export interface Cited {
  readonly results: readonly CitedResult[];
  readonly copies: ReadonlyMap<string, { readonly bytes: Uint8Array; readonly sha256: string }>;
  /** Results that say nearly what a better one says. */
  readonly duplicates: number;
}

/** Pages that are read at one time. */
const SIDE_BY_SIDE = 4;
/** Results beyond those that are told, in the place of duplicates. */
const SPARE = 4;

const clean = (ctx: ToolContext, text: string, most: number): string =>
  cleanUntrusted(ctx.redactor.text(text)).text.slice(0, most).toWellFormed();

const look = async (
  driver: ReaderDriver,
  ctx: ToolContext,
  merged: Merged,
  until: number | undefined,
): Promise<Looked> => {
  const document = until === undefined ? undefined : await readDocument(driver, ctx, merged.address, until);
  const text = document !== undefined && 'text' in document ? document.text : merged.description;
  return { merged, document, print: simHash(text) };
};

const lookAtAll = async (
  driver: ReaderDriver,
  ctx: ToolContext,
  merged: readonly Merged[],
  { results, read, until }: CiteOptions,
): Promise<Looked[]> => {
  const candidates = merged.slice(0, results + SPARE);
  let pages = 0;
  const jobs = candidates.map((each) => {
    const isPage = pathOf(each.address) === undefined;
    if (isPage) pages += 1;
    return { each, isRead: !isPage || pages <= read };
  });
  const looked: Looked[] = [];
  for (let at = 0; at < jobs.length; at += SIDE_BY_SIDE) {
    const group = jobs.slice(at, at + SIDE_BY_SIDE);
    looked.push(
      ...(await Promise.all(group.map(({ each, isRead }) => look(driver, ctx, each, isRead ? until : undefined)))),
    );
  }
  return looked;
};

/** What a page says of its own address counts within its site: else it could take the place of another. */
const ownCanonical = ({ address, canonical }: { readonly address: string; readonly canonical: string }): string => {
  const site = getDomain(address, { allowPrivateDomains: true });
  return site !== null && site === getDomain(canonical, { allowPrivateDomains: true }) ? canonical : '';
};

const keysOf = ({ merged, document }: Looked): string[] => {
  const own = document !== undefined && 'text' in document ? ownCanonical(document) : '';
  return [merged.address, own].filter((address) => address !== '').map(canonicalAddress);
};

/** The better one of two that are the same stays, and names the address of the other. */
const withoutDuplicates = (looked: readonly Looked[]): Looked[] => {
  const kept: Looked[] = [];
  for (const each of looked) {
    const keys = keysOf(each);
    const at = kept.findIndex(
      (other) => isNear(other.print, each.print) || keysOf(other).some((key) => keys.includes(key)),
    );
    const same = kept[at];
    if (same === undefined) kept.push(each);
    else {
      const alsoAt = [...same.merged.alsoAt, each.merged.address, ...each.merged.alsoAt];
      kept[at] = { ...same, merged: { ...same.merged, alsoAt } };
    }
  }
  return kept;
};

const MOST_ALSO = 3;

const about = (ctx: ToolContext, { merged, document }: Looked, rank: number) => {
  const read = document !== undefined && 'text' in document ? document : undefined;
  const { address, published, by, alsoAt } = merged;
  const title = clean(ctx, merged.title || (read?.title ?? ''), 300);
  const shown = alsoAt.slice(0, MOST_ALSO).map((other) => clean(ctx, other, 500));
  return {
    rank,
    address,
    origin: pathOf(address) === undefined ? new URL(read?.address ?? address).origin : `folder:${ctx.actor.tenant}`,
    ...(read === undefined || read.address === address ? {} : { read_from: clean(ctx, read.address, 2_000) }),
    title,
    by: [...by],
    ...(published === undefined ? {} : { published: new Date(published).toISOString() }),
    ...(shown.length === 0 ? {} : { also_at: shown }),
  };
};

/** Without its text: what the provider said of it is no citation, and so no snippet. */
const uncited = (ctx: ToolContext, looked: Looked, rank: number): CitedResult => {
  const { document, merged } = looked;
  const description = clean(ctx, merged.description, 500);
  return {
    ...about(ctx, looked, rank),
    ...(description === '' ? {} : { description }),
    not_read: document !== undefined && 'notRead' in document ? document.notRead : 'it is not among the first',
    snippets: [],
  };
};

const cite = async (ctx: ToolContext, looked: Looked, rank: number, { wanted, snippets }: CiteOptions) => {
  const { document, merged } = looked;
  if (document === undefined || !('text' in document)) return { result: uncited(ctx, looked, rank), stored: undefined };
  const bytes = Buffer.from(document.text, 'utf8');
  const name = { name: `source-${rank}.md`, mediaType: 'text/markdown', trust: 'untrusted' } as const;
  const copy: Copy = await storeCopy(ctx, name, bytes);
  // What looks like a secret only by itself would be a mark in the answer, and not what the copy shows.
  const picked = pickSnippets(document.text, wanted, snippets).filter(({ text }) => ctx.redactor.text(text) === text);
  const isStored = 'stored' in copy;
  const result: CitedResult = {
    ...about(ctx, looked, rank),
    ...(isStored ? { copy: copy.stored.id } : { not_stored: copy.missing }),
    sha256: sha256Hex(bytes),
    chars: document.text.length,
    ...(document.isCut ? { text_cut: true } : {}),
    snippets: picked.map(({ from, to, text }) => ({
      address: merged.address,
      ...(isStored ? { from, to } : {}),
      text,
    })),
  };
  return { result, stored: isStored ? { ...copy.stored, bytes } : undefined };
};

/**
 * Reads the first results, drops those that say the same, stores the text of each that is told, and cites from that text.
 * Rejects with the reason of the call's signal, and with nothing else.
 */
export const citeResults = async (
  driver: ReaderDriver,
  ctx: ToolContext,
  merged: readonly Merged[],
  options: CiteOptions,
): Promise<Cited> => {
  const looked = await lookAtAll(driver, ctx, merged, options);
  const there = looked.filter(
    ({ merged: { address }, document }) =>
      pathOf(address) === undefined || (document !== undefined && 'text' in document),
  );
  const distinct = withoutDuplicates(there);
  const cited = await Promise.all(
    distinct.slice(0, options.results).map((each, at) => cite(ctx, each, at + 1, options)),
  );
  const copies = cited.flatMap(({ stored }) => (stored === undefined ? [] : [[stored.id, stored] as const]));
  return {
    results: cited.map(({ result }) => result),
    copies: new Map(copies),
    duplicates: there.length - distinct.length,
  };
};
