import { FabricError, sha256Hex } from '@toolfabric/kernel';
import { showPath } from './path-parts.ts';
import { type Entry, type Place, pathOf } from './place.ts';

export interface FileContent {
  readonly bytes: Buffer;
  readonly sha256: string;
}

/** The whole file, at most `limit` bytes; throws `not_a_file` and `too_large`. */
export const readWhole = async (place: Place & { readonly entry: Entry }, limit: number): Promise<FileContent> => {
  const shown = showPath(pathOf(place));
  if (place.entry.kind !== 'file') throw new FabricError('not_a_file', `${shown} is not a regular file`);
  const tooLarge = () =>
    new FabricError('too_large', `${shown} is larger than the ${limit} bytes that this tool edits`, {
      hint: 'Edit a smaller file, or split this one.',
    });
  if (place.entry.stats.size > limit) throw tooLarge();
  await using handle = await place.entry.open();
  const buffer = Buffer.alloc(limit + 1);
  let length = 0;
  while (length <= limit) {
    const { bytesRead } = await handle.read(buffer, length, buffer.length - length, length);
    if (bytesRead === 0) break;
    length += bytesRead;
  }
  if (length > limit) throw tooLarge();
  const bytes = buffer.subarray(0, length);
  return { bytes, sha256: sha256Hex(bytes) };
};
