import type { WorkspaceHead } from '@toolfabric/contract';
import { FabricError } from '@toolfabric/kernel';
import type { CallPermit } from './access.ts';
import { type ArchiveContext, indexOf } from './archive-context.ts';
import { headName } from './head-name.ts';
import type { StoredHead } from './stored-record.ts';
import type { TenantIndex } from './tenant-index.ts';

export interface Move {
  /** The generation on which the new one is built. */
  readonly expected: number;
  /** Left out: the generation is raised, and the manifest stays. */
  readonly manifest?: string | undefined;
  /** Snapshots that the manifest needs beside itself; all when left out. */
  readonly keeps?: readonly string[] | undefined;
}

const checkWorkspace = (permit: CallPermit, workspace: string): void => {
  if (permit.workspace !== workspace) throw new FabricError('forbidden', 'the permit is for another workspace');
};

/** Generation 0 without a manifest before the first snapshot. */
export const readHead = (ctx: ArchiveContext, permit: CallPermit, workspace: string): WorkspaceHead => {
  checkWorkspace(permit, workspace);
  const { tenant } = permit.actor;
  return indexOf(ctx, tenant).heads.get(headName(workspace))?.head ?? { workspace, tenant, generation: 0 };
};

/**
 * Compare-and-set on the generation (protocol 12); `conflict` when it is another one. The same move again by the same
 * epoch of a call finds itself, so that a lost answer may be asked for once more.
 */
export const moveHead = (
  ctx: ArchiveContext,
  permit: CallPermit,
  workspace: string,
  { expected, manifest, keeps }: Move,
): Promise<WorkspaceHead> => {
  checkWorkspace(permit, workspace);
  const { tenant } = permit.actor;
  const index = indexOf(ctx, tenant);
  const name = headName(workspace);
  return ctx.locks.run(`${tenant}/heads/${name}`, async () => {
    const present = index.heads.get(name);
    const generation = present?.head.generation ?? 0;
    const { callId, epoch, retentionDays } = permit;
    const movedBy = { callId, epoch, ...(manifest === undefined ? {} : { manifest }) };
    if (present && generation === expected + 1 && isSameMove(present.movedBy, movedBy)) return present.head;
    if (generation !== expected) throw new FabricError('conflict', `the head is at generation ${generation}`);
    if (manifest !== undefined) checkManifest(index, manifest, workspace);
    const kept = manifest ?? present?.head.manifest;
    const head: WorkspaceHead = {
      workspace,
      tenant,
      generation: expected + 1,
      ...(kept === undefined ? {} : { manifest: kept }),
    };
    const needed = manifest === undefined ? present?.keeps : keeps;
    const next: StoredHead = {
      format: 1,
      head,
      movedBy,
      movedAt: ctx.clock.now(),
      retentionDays,
      ...(needed === undefined ? {} : { keeps: [...needed] }),
    };
    await ctx.store.writeDocument(tenant, 'heads', name, JSON.stringify(next));
    index.heads.set(name, next);
    return head;
  });
};

const isSameMove = (a: StoredHead['movedBy'], b: StoredHead['movedBy']): boolean =>
  a.callId === b.callId && a.epoch === b.epoch && a.manifest === b.manifest;

/** A head never names what is not there. */
const checkManifest = (index: TenantIndex, id: string, workspace: string): void => {
  const stored = index.get(id);
  if (stored?.workspace !== workspace || stored.record.state !== 'complete') {
    throw new FabricError('not_found', 'there is no such snapshot of this workspace');
  }
};
