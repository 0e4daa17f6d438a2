import { FabricError } from '@toolfabric/kernel';

/** The snapshot cannot be read: nothing brings the workspace back. Never for an outage, which ends. */
export const lost = (why: string, cause?: unknown): FabricError =>
  new FabricError('workspace_lost', `the snapshot of the workspace cannot be read: ${why}`, { cause });

export const full = (why: string): FabricError =>
  new FabricError('workspace_full', `the workspace is too large to be kept: ${why}`);
