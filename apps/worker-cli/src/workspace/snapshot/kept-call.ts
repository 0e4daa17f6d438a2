import type { Outcome, WorkspaceHead, WorkspaceRef } from '@toolfabric/contract';
import { FabricError, type Json } from '@toolfabric/kernel';
import type { ArtifactSession } from '@toolfabric/ports';
import type { ToolContext } from '@toolfabric/worker-runtime';
import { identityAt } from '../open-root.ts';
import type { WorkspaceRecord } from '../workspace-record.ts';
import { GENERATION } from './answer-from-history.ts';

export const missing = (): FabricError =>
  new FabricError('workspace_missing', 'the workspace of the task was never prepared');

export const sessionOf = ({ artifacts }: ToolContext): ArtifactSession => {
  if (artifacts !== undefined) return artifacts;
  throw new FabricError('unavailable', 'the call came without leave to use the snapshots of its workspace');
};

export const refOf = ({ workspace }: ToolContext): WorkspaceRef => {
  if (workspace !== undefined) return workspace;
  throw new FabricError('workspace_missing', 'the task has no workspace');
};

/** The intent with what the effect was built on, so that a probe knows from where on to look. */
export const withGeneration = (intent: Json, { generation }: WorkspaceHead): Json =>
  intent !== null && typeof intent === 'object' && !Array.isArray(intent)
    ? { ...intent, [GENERATION]: generation }
    : intent;

export const PREPARED: Outcome = {
  status: 'ok',
  summary: 'The workspace was made.',
  sideEffect: 'none',
  trust: 'trusted',
};

export const errorOf = ({ error, summary }: Outcome): FabricError =>
  error === undefined ? new FabricError('unavailable', summary) : FabricError.fromToolError(error);

export const isThere = async ({ root, identity }: WorkspaceRecord): Promise<boolean> =>
  (await identityAt(root).catch(() => undefined)) === identity;
