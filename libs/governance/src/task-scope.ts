import type { Actor, CallRecord, TaskRecord } from '@toolfabric/contract';
import { FabricError } from '@toolfabric/kernel';

/** The same user through the same agent in the same tenant; a part of an identity owns nothing. */
export const isSameActor = (a: Actor, b: Actor): boolean =>
  a.tenant === b.tenant && a.user === b.user && a.agent === b.agent;

/**
 * The task, when this actor may act in it. What belongs to somebody else is refused exactly like what does not exist.
 *
 * Throws `not_found`, `task_ended`, or `unavailable` (retryable) while its workspace is being made.
 */
export const checkTaskScope = (task: TaskRecord | undefined, actor: Actor): TaskRecord => {
  if (task === undefined || !isSameActor(task.actor, actor)) {
    throw new FabricError('not_found', 'there is no such task');
  }
  if (task.state === 'ended') throw new FabricError('task_ended', 'the task has ended');
  if (task.state === 'preparing') {
    throw new FabricError('unavailable', 'the workspace of the task is still being prepared', { retryAfterMs: 500 });
  }
  return task;
};

/** The call, when this actor owns it. Throws `not_found` for another's exactly as for none. */
export const checkCallScope = (call: CallRecord | undefined, actor: Actor): CallRecord => {
  if (call === undefined || !isSameActor(call.actor, actor)) {
    throw new FabricError('not_found', 'there is no such call');
  }
  return call;
};
