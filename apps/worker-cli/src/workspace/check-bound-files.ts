import { createHash } from 'node:crypto';
import type { BoundFile } from '@toolfabric/contract';
import { FabricError } from '@toolfabric/kernel';
import type { ToolContext } from '@toolfabric/worker-runtime';
import { throwIfStopped } from '../process/stop-reason.ts';
import { findOccupied } from './find-place.ts';
import type { OpenWorkspace } from './open-workspace.ts';
import { showPath } from './path-parts.ts';

const CHUNK_BYTES = 256 * 1024;
/** Stands for the hash of a file that is not there. */
const ABSENT = 'absent';

const hashOf = async ({ root }: OpenWorkspace, path: string, signal: AbortSignal): Promise<string> => {
  const place = await findOccupied(root, path);
  try {
    if (place.entry.kind !== 'file') return place.entry.kind;
    await using handle = await place.entry.open();
    const hash = createHash('sha256');
    const buffer = Buffer.allocUnsafe(CHUNK_BYTES);
    for (;;) {
      throwIfStopped(signal);
      const { bytesRead } = await handle.read(buffer, 0, buffer.length, null);
      if (bytesRead === 0) return hash.digest('hex');
      hash.update(buffer.subarray(0, bytesRead));
    }
  } finally {
    await place.close();
  }
};

/** What cannot be reached is not what a person was shown. */
const isSame = async (workspace: OpenWorkspace, { path, sha256 }: BoundFile, signal: AbortSignal): Promise<boolean> => {
  try {
    return (await hashOf(workspace, path, signal)) === sha256;
  } catch (thrown) {
    throwIfStopped(signal);
    if (!(thrown instanceof FabricError)) throw thrown;
    return thrown.type === 'file_not_found' && sha256 === ABSENT;
  }
};

/** Throws `approval_changed` where a file that a person's yes is bound to is another one by now (PO-4). */
export const checkBoundFiles = async (
  workspace: OpenWorkspace,
  { boundFiles = [], signal }: Pick<ToolContext, 'boundFiles' | 'signal'>,
): Promise<void> => {
  for (const file of boundFiles)
    if (!(await isSame(workspace, file, signal)))
      throw new FabricError(
        'approval_changed',
        `${showPath(file.path)} is another file than the one that was approved`,
      );
};
