import { FabricError } from '@toolfabric/kernel';
import type { ArtifactSession } from '@toolfabric/ports';
import { checkEntries } from './check-entries.ts';
import { decodeList, type Line, PREFIX_BYTES, parsePrefix } from './encode-list.ts';
import { lost } from './lost.ts';
import { type BytePath, type Entry, INLINE, type ManifestHeader, type Pack, type Snapshot } from './manifest.ts';
import type { SnapshotLimits } from './snapshot-limits.ts';

interface LoadedList {
  readonly header: ManifestHeader;
  readonly lines: readonly Line[];
  readonly sha256: string;
  readonly packs: readonly Pack[];
}

/** Bytes `from` up to `to`, or fewer where the artifact ends. Throws `workspace_lost` when it is not there any more. */
export const readRange = async (
  session: ArtifactSession,
  id: string,
  from: number,
  to: number,
  signal: AbortSignal,
): Promise<Buffer> => {
  const parts: Uint8Array[] = [];
  let size = 0;
  try {
    for await (const part of session.read(id, { from, to }, signal)) {
      parts.push(part);
      size += part.byteLength;
      if (size > to - from) throw lost('the store gave more than it was asked for');
    }
  } catch (thrown) {
    throw unreadable(thrown);
  }
  return Buffer.concat(parts, size);
};

/** What the store refuses to give is gone; an outage is not among that. */
export const unreadable = (thrown: unknown): unknown =>
  thrown instanceof FabricError && (thrown.type === 'not_found' || thrown.type === 'forbidden')
    ? lost('a part of it is not stored any more', thrown)
    : thrown;

/** Files that lie in the same artifact get the number behind those of the other packs. */
const numbered = (line: Line, own: number): Line =>
  line.type === 'file' && line.pack === INLINE ? { ...line, pack: own } : line;

const loadList = async (
  session: ArtifactSession,
  id: string,
  limits: SnapshotLimits,
  signal: AbortSignal,
): Promise<LoadedList> => {
  const frame = parsePrefix(await readRange(session, id, 0, PREFIX_BYTES, signal));
  const end = PREFIX_BYTES + frame.headerBytes + frame.listBytes;
  const { header, lines } = decodeList(
    frame,
    await readRange(session, id, PREFIX_BYTES, end, signal),
    2 * limits.entries,
  );
  const packs = [...header.packs, { id, start: end, size: header.inline }];
  return { header, lines: lines.map((line) => numbered(line, packs.length - 1)), sha256: frame.sha256, packs };
};

/** The whole list of a snapshot that names every entry itself. */
const wholeOf = ({ lines }: LoadedList): Map<BytePath, Entry> => {
  const entries = new Map<BytePath, Entry>();
  for (const line of lines) {
    if (line.type === 'removed' || entries.has(line.path)) throw lost('its list names a path twice');
    entries.set(line.path, line);
  }
  return entries;
};

const shifted = (entry: Entry, by: number): Entry =>
  entry.type === 'file' ? { ...entry, pack: entry.pack + by } : entry;

const applied = (base: LoadedList, own: LoadedList): { entries: Map<BytePath, Entry>; packs: Pack[] } => {
  const entries = wholeOf(base);
  const seen = new Set<BytePath>();
  for (const line of own.lines) {
    if (seen.has(line.path)) throw lost('its list names a path twice');
    seen.add(line.path);
    if (line.type === 'removed') entries.delete(line.path);
    else entries.set(line.path, shifted(line, base.packs.length));
  }
  return { entries, packs: [...base.packs, ...own.packs] };
};

/** What a snapshot says of itself. Throws as `loadSnapshot`. */
export const loadHeader = async (
  session: ArtifactSession,
  workspace: string,
  id: string,
  limits: SnapshotLimits,
  signal: AbortSignal,
): Promise<ManifestHeader> => {
  const { header } = await loadList(session, id, limits, signal);
  if (header.workspace !== workspace) throw lost('it belongs to another workspace');
  return header;
};

/** Reads and checks the list of a snapshot, whoever wrote it. Throws `workspace_lost`, and `StoreUnavailable` meanwhile. */
export const loadSnapshot = async (
  session: ArtifactSession,
  workspace: string,
  id: string,
  limits: SnapshotLimits,
  signal: AbortSignal,
): Promise<Snapshot> => {
  const own = await loadList(session, id, limits, signal);
  if (own.header.workspace !== workspace) throw lost('it belongs to another workspace');
  const { base } = own.header;
  if (base === undefined) {
    const entries = wholeOf(own);
    checkEntries(entries, own.packs, limits);
    return {
      id,
      header: own.header,
      entries,
      packs: own.packs,
      base: { id, sha256: own.sha256, entries, packs: own.packs },
    };
  }
  const below = await loadList(session, base.id, limits, signal);
  if (below.sha256 !== base.sha256 || below.header.base !== undefined || below.header.workspace !== workspace) {
    throw lost('it builds on another list than it says');
  }
  const { entries, packs } = applied(below, own);
  checkEntries(entries, packs, limits);
  return { id, header: own.header, entries, packs, base: { ...base, entries: wholeOf(below), packs: below.packs } };
};
