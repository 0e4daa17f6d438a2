import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import { findPlace } from './find-place.ts';
import type { OpenRoot } from './open-root.ts';
import { isTemporaryName } from './reserved-names.ts';
import type { WorkspaceLock } from './workspace-lock.ts';

/** What the holder of a lock notes in it before it makes a temporary file: enough for the next holder to remove it. */
const Note = z.strictObject({ directory: z.string(), name: z.string().refine(isTemporaryName) });

export const noteOf = (directory: string, name: string): string => JSON.stringify({ directory, name });

const parseNote = (text: string): z.infer<typeof Note> | undefined => {
  try {
    return Note.parse(JSON.parse(text));
  } catch {
    return undefined;
  }
};

/**
 * Removes the temporary file of a holder that died. Under the lock nobody else can own one. A target is never touched:
 * it is either the old file or the new one, whole.
 */
export const removeLeftover = async (root: OpenRoot, lock: WorkspaceLock): Promise<void> => {
  const text = await lock.note();
  if (text === '') return;
  const note = parseNote(text);
  if (note !== undefined) {
    const place = await findPlace(root, join(note.directory, note.name)).catch(() => undefined);
    if (place?.entry?.kind === 'file' && isTemporaryName(place.name)) {
      await rm(join(place.directory, place.name), { force: true });
    }
    await place?.close();
  }
  await lock.leave('');
};
