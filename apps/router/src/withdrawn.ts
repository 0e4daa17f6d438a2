import type { CallRecord } from '@toolfabric/contract';
import { taskKey } from '@toolfabric/ledger';
import type { RouterContext } from './router-context.ts';

/**
 * Whether the task of a call had ended before the call was made, which the router that accepted it did not know. Asked
 * by whoever carries on a call that another one may have accepted without hearing the answer about its task. A call
 * that was made before the end of its task goes on.
 */
export const isWithdrawn = async (ctx: RouterContext, call: CallRecord): Promise<boolean> => {
  const task = (await ctx.ports.tasks.get(taskKey(call.actor.tenant, call.taskId)))?.value;
  return task?.state === 'ended' && task.endedAt !== undefined && task.endedAt <= call.createdAt;
};
