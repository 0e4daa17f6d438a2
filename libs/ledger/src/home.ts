import type { WorkspaceHome } from '@toolfabric/contract';

/**
 * Where the calls of a task go next, after `ran` has worked in its workspace (protocol 12); undefined when that does
 * not change. The home is the worker that has the newest copy. A living home of another kind stays: calls of one kind
 * do not make those of the other restore the workspace at every turn.
 */
export const moveHome = (
  present: WorkspaceHome | undefined,
  ran: WorkspaceHome,
  isPresentAlive: boolean,
): WorkspaceHome | undefined => {
  if (present === undefined) return ran;
  if (present.kind !== ran.kind) return isPresentAlive ? undefined : ran;
  return present.incarnation === ran.incarnation && present.slot === ran.slot ? undefined : ran;
};
