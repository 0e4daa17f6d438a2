import { shortHash } from '@toolfabric/kernel';
import type { ArtifactName, ArtifactSession } from '@toolfabric/ports';
import type { Pack } from './manifest.ts';
import { type Found, readFound } from './scan-tree.ts';
import { PACK_BYTES } from './snapshot-limits.ts';
import { OpenTree } from './tree-walk.ts';

export type FoundFile = Extract<Found, { type: 'file' }>;

/** What is stored together: each content once, one behind the other. */
export interface PlannedPack {
  readonly files: readonly FoundFile[];
  readonly size: number;
}

/** Every content once, in packs of a bounded size. */
export const planPacks = (files: Iterable<FoundFile>): PlannedPack[] => {
  const packs: { files: FoundFile[]; size: number }[] = [];
  const seen = new Set<string>();
  for (const file of files) {
    const content = `${file.sha256}.${file.size}`;
    if (seen.has(content)) continue;
    seen.add(content);
    const last = packs.at(-1);
    if (last === undefined || (last.size > 0 && last.size + file.size > PACK_BYTES)) {
      packs.push({ files: [file], size: file.size });
    } else {
      last.files.push(file);
      last.size += file.size;
    }
  }
  return packs;
};

/** Where each content of a pack begins, by its digest. */
export const offsetsOf = ({ files }: PlannedPack): Map<string, number> => {
  const offsets = new Map<string, number>();
  let at = 0;
  for (const { sha256, size } of files) {
    offsets.set(sha256, at);
    at += size;
  }
  return offsets;
};

export async function* packBytes(root: string, { files }: PlannedPack): AsyncGenerator<Uint8Array> {
  const tree = new OpenTree(root);
  try {
    for (const file of files) yield* readFound(tree, file);
  } finally {
    tree.close();
  }
}

export const snapshotName = (part: string, ...of: unknown[]): ArtifactName => ({
  // The store finds a repeated write by it: the same content has the same name.
  name: `snapshot-${part}-${shortHash(part, ...of)}`,
  mediaType: 'application/octet-stream',
  trust: 'untrusted',
});

/** Streams a pack from the disk; its memory does not grow with its size. */
export const storePack = async (
  session: ArtifactSession,
  root: string,
  pack: PlannedPack,
  signal: AbortSignal,
): Promise<Pack> => {
  const name = snapshotName('pack', ...pack.files.map(({ sha256, size }) => [sha256, size]));
  const { id, size } = await session.put(name, packBytes(root, pack), signal);
  return { id, start: 0, size };
};
