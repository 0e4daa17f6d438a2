import { readFileSync } from 'node:fs';
import { readdir, readFile, rename, rm, stat, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { ArtifactId } from '@toolfabric/contract';
import { randomId } from '@toolfabric/kernel';
import { z } from 'zod';
import type { Layout } from '../layout.ts';

/**
 * What is known of the copy of a workspace on this disk. It is `clean` when it is exactly what the manifest says. The
 * mark is taken away before anything is written, so that it tells the truth after any death of the worker; after a
 * death of the machine it does not count, since not everything was forced to the disk.
 */
export const CopyState = z.strictObject({
  manifest: ArtifactId.optional(),
  clean: z.boolean(),
  boot: z.string(),
});
export type CopyState = z.infer<typeof CopyState>;

const readBoot = (): string => {
  try {
    return readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim();
  } catch {
    // Where the kernel does not say, no copy outlives its worker.
    return randomId();
  }
};
const BOOT = readBoot();

const fileOf = (layout: Layout, id: string): string => join(layout.copies, `${id}.json`);

/** Undefined when nothing is known, so that the copy counts for nothing. */
export const readCopyState = async (layout: Layout, id: string): Promise<CopyState | undefined> => {
  try {
    const state = CopyState.parse(JSON.parse(await readFile(fileOf(layout, id), 'utf8')));
    return state.boot === BOOT ? state : { ...state, clean: false };
  } catch {
    return undefined;
  }
};

/** Milliseconds since the epoch at which it was used last, to some minutes. */
export const usedAt = async (layout: Layout, id: string): Promise<number> => (await stat(fileOf(layout, id))).mtimeMs;

export const touchCopy = async (layout: Layout, id: string, now: number): Promise<void> => {
  await utimes(fileOf(layout, id), now / 1000, now / 1000).catch(() => {});
};

/** Whole or not at all; the page cache outlives the worker. */
export const writeCopyState = async (layout: Layout, id: string, state: Omit<CopyState, 'boot'>): Promise<void> => {
  const file = fileOf(layout, id);
  const aside = `${file}.${randomId()}`;
  await writeFile(aside, JSON.stringify({ ...state, boot: BOOT }), { mode: 0o600, flag: 'wx' });
  await rename(aside, file);
};

export const removeCopyState = (layout: Layout, id: string): Promise<void> => rm(fileOf(layout, id), { force: true });

/** Ids of the workspaces that this disk has or had a copy of. */
export const listCopies = async (layout: Layout): Promise<string[]> =>
  (await readdir(layout.copies)).filter((name) => name.endsWith('.json')).map((name) => name.slice(0, -5));
