import type { Outcome, WorkspaceHead } from '@toolfabric/contract';
import type { ArtifactSession } from '@toolfabric/ports';
import { encodeList, type Line } from './encode-list.ts';
import {
  type Ancestor,
  type BytePath,
  type Entry,
  type FileEntry,
  INLINE,
  isSameEntry,
  type ManifestHeader,
  type Pack,
  type Snapshot,
} from './manifest.ts';
import {
  type FoundFile,
  offsetsOf,
  type PlannedPack,
  packBytes,
  planPacks,
  snapshotName,
  storePack,
} from './pack-writer.ts';
import type { Found } from './scan-tree.ts';
import {
  HISTORY,
  IDLE_BYTES,
  INLINE_BYTES,
  MOST_DIFFERENCES,
  MOST_SMALL_PACKS,
  SMALL_BYTES,
} from './snapshot-limits.ts';

export interface SnapshotRequest {
  readonly session: ArtifactSession;
  readonly workspace: string;
  /** Names the open root directory. */
  readonly root: string;
  /** The snapshot that the workspace was at before; none for the first one. */
  readonly before: Snapshot | undefined;
  readonly head: WorkspaceHead;
  readonly callId: string;
  readonly epoch: number;
  readonly receipt: Outcome | undefined;
  readonly found: ReadonlyMap<BytePath, Found>;
  readonly signal: AbortSignal;
}

const isFile = (entry: Found | Entry | undefined): entry is FileEntry => entry?.type === 'file';

/** Whether the workspace holds anything else than the snapshot says. */
export const hasChanged = (before: Snapshot | undefined, found: ReadonlyMap<BytePath, Found>): boolean => {
  if (before === undefined || before.entries.size !== found.size) return true;
  for (const [path, entry] of found) if (!isSameEntry(entry as Entry, before.entries.get(path))) return true;
  return false;
};

const packKey = ({ id, start }: Pack): string => `${id}.${start}`;

/** Stored bytes by content, but those in packs that are to be put together. */
const storedContent = (before: Snapshot | undefined, found: ReadonlyMap<BytePath, Found>) => {
  const content = new Map<string, { pack: Pack; offset: number }>();
  if (before === undefined) return content;
  const live = new Map<number, number>();
  const needed = new Set([...found.values()].filter(isFile).map(({ sha256 }) => sha256));
  for (const entry of before.entries.values()) {
    if (!isFile(entry) || !needed.has(entry.sha256)) continue;
    live.set(entry.pack, (live.get(entry.pack) ?? 0) + entry.size);
  }
  const left = packsToLeave(before.packs, live);
  for (const entry of before.entries.values()) {
    const pack = isFile(entry) ? before.packs[entry.pack] : undefined;
    if (!isFile(entry) || pack === undefined || left.has(entry.pack)) continue;
    content.set(entry.sha256, { pack, offset: entry.offset });
  }
  return content;
};

/** Too many small packs are put together, and packs that are used by less than half once too much lies idle. */
const packsToLeave = (packs: readonly Pack[], live: ReadonlyMap<number, number>): Set<number> => {
  const used = [...live.keys()];
  const left = new Set<number>();
  const small = used.filter((pack) => (live.get(pack) ?? 0) < SMALL_BYTES);
  if (small.length >= MOST_SMALL_PACKS) for (const pack of small) left.add(pack);
  const idleOf = (pack: number) => (packs[pack]?.size ?? 0) - (live.get(pack) ?? 0);
  if (used.reduce((sum, pack) => sum + Math.max(0, idleOf(pack)), 0) > IDLE_BYTES) {
    for (const pack of used) if (idleOf(pack) > (live.get(pack) ?? 0)) left.add(pack);
  }
  return left;
};

interface Placed {
  readonly entries: Map<BytePath, Entry>;
  readonly packs: readonly Pack[];
  readonly inline: PlannedPack;
}

const NOTHING: PlannedPack = { files: [], size: 0 };

/** Stores what is not stored yet, and says where everything lies; small changes go into the artifact of the list. */
const place = async (request: SnapshotRequest): Promise<Placed> => {
  const { session, root, signal, found } = request;
  const stored = storedContent(request.before, found);
  const files = [...found.values()].filter((entry): entry is FoundFile => entry.type === 'file');
  const planned = planPacks(files.filter(({ sha256 }) => !stored.has(sha256)));
  const [first = NOTHING] = planned;
  const isSmall = planned.length <= 1 && first.size <= INLINE_BYTES;
  const own = new Map<string, { pack: Pack; offset: number }>();
  for (const plan of isSmall ? [] : planned) {
    const pack = await storePack(session, root, plan, signal);
    for (const [sha256, offset] of offsetsOf(plan)) own.set(sha256, { pack, offset });
  }
  const inline = isSmall ? first : NOTHING;
  const inlineAt = offsetsOf(inline);
  const packs: Pack[] = [];
  const numbers = new Map<string, number>();
  const numberOf = (pack: Pack): number => {
    const known = numbers.get(packKey(pack));
    if (known !== undefined) return known;
    numbers.set(packKey(pack), packs.length);
    packs.push(pack);
    return packs.length - 1;
  };
  const entries = new Map<BytePath, Entry>();
  for (const entry of found.values()) {
    if (entry.type !== 'file') {
      entries.set(entry.path, entry);
      continue;
    }
    const at = stored.get(entry.sha256) ?? own.get(entry.sha256);
    const where = at
      ? { pack: numberOf(at.pack), offset: at.offset }
      : { pack: INLINE, offset: inlineAt.get(entry.sha256) ?? 0 };
    entries.set(entry.path, { ...entry, ...where });
  }
  return { entries, packs, inline };
};

const isPlacedAs = (entry: Entry, placed: Placed, base: Entry | undefined, packs: readonly Pack[]): boolean => {
  if (!isSameEntry(entry, base)) return false;
  if (!isFile(entry) || !isFile(base)) return true;
  const [now, then] = [placed.packs[entry.pack], packs[base.pack]];
  return now !== undefined && then !== undefined && packKey(now) === packKey(then) && entry.offset === base.offset;
};

interface ListPlan {
  readonly lines: readonly Line[];
  readonly packs: readonly Pack[];
  readonly base: Snapshot['base'] | undefined;
}

const wholeList = (placed: Placed): ListPlan => ({
  lines: [...placed.entries.values()],
  packs: placed.packs,
  base: undefined,
});

/** The differences to the whole list before, or the whole list where they would be many. */
const planList = (placed: Placed, before: Snapshot | undefined): ListPlan => {
  if (before === undefined) return wholeList(placed);
  const { base } = before;
  const lines: Line[] = [];
  for (const entry of placed.entries.values()) {
    if (!isPlacedAs(entry, placed, base.entries.get(entry.path), base.packs)) lines.push(entry);
  }
  for (const path of base.entries.keys()) if (!placed.entries.has(path)) lines.push({ type: 'removed', path });
  if (lines.length > MOST_DIFFERENCES || lines.length > placed.entries.size) return wholeList(placed);
  const packs: Pack[] = [];
  const renumbered = lines.map((line) => {
    if (line.type !== 'file' || line.pack === INLINE) return line;
    const pack = placed.packs[line.pack] as Pack;
    const known = packs.findIndex((other) => packKey(other) === packKey(pack));
    return { ...line, pack: known < 0 ? packs.push(pack) - 1 : known };
  });
  return { lines: renumbered, packs, base };
};

const historyOf = (before: Snapshot | undefined): Ancestor[] => {
  if (before === undefined) return [];
  const { generation, callId, epoch, history } = before.header;
  return [...history, { generation, manifest: before.id, callId, epoch }].slice(-HISTORY);
};

async function* artifactBytes(list: Buffer, root: string, inline: PlannedPack): AsyncGenerator<Uint8Array> {
  yield list;
  yield* packBytes(root, inline);
}

/** How a snapshot is seen once it is stored: as if it had been read again. */
const asLoaded = (id: string, header: ManifestHeader, plan: ListPlan, placed: Placed, stored: StoredList): Snapshot => {
  const own: Pack = { id, start: stored.bytes, size: header.inline };
  const below = plan.base;
  const packs = [...placed.packs, own];
  const entries = new Map<BytePath, Entry>();
  for (const [path, entry] of placed.entries) {
    entries.set(path, isFile(entry) && entry.pack === INLINE ? { ...entry, pack: packs.length - 1 } : entry);
  }
  if (below === undefined) return { id, header, entries, packs, base: { id, sha256: stored.sha256, entries, packs } };
  return { id, header, entries, packs, base: below };
};

/** Every stored thing that the snapshot cannot do without, and the ones before it, which tell who was kept. */
export const neededBy = ({ id, header, packs, base }: Snapshot): string[] => {
  const ids = [...packs, ...base.packs].map((pack) => pack.id);
  const needed = new Set([...ids, base.id, ...header.history.map(({ manifest }) => manifest)]);
  needed.delete(id);
  return [...needed];
};

interface StoredList {
  readonly bytes: number;
  readonly sha256: string;
}

/**
 * Stores the workspace as it was scanned: what is not stored yet, and the list. Nobody sees it before the head is
 * moved to it. The same state stored again by the same call is found. Throws `FileChanged`, `StoreUnavailable` and
 * what the store refuses.
 */
export const storeSnapshot = async (request: SnapshotRequest): Promise<Snapshot> => {
  const { session, workspace, head, before, callId, epoch, receipt, root, signal } = request;
  const placed = await place(request);
  const plan = planList(placed, before);
  const header: ManifestHeader = {
    workspace,
    generation: head.generation + 1,
    callId,
    epoch,
    ...(plan.base === undefined ? {} : { base: { id: plan.base.id, sha256: plan.base.sha256 } }),
    packs: [...plan.packs],
    inline: placed.inline.size,
    history: historyOf(before),
    ...(receipt === undefined ? {} : { receipt }),
  };
  const list = encodeList(header, plan.lines);
  const name = snapshotName(
    'list',
    list.sha256,
    placed.inline.files.map(({ sha256 }) => sha256),
  );
  const { id } = await session.put(name, artifactBytes(list.bytes, root, placed.inline), signal);
  return asLoaded(id, header, plan, placed, { bytes: list.bytes.length, sha256: list.sha256 });
};
