import { type FabricEvent, type RpcRequest, TaskId, type TaskRecord, type TaskWidening } from '@toolfabric/contract';
import { objectionToWiden, widenTask as widened } from '@toolfabric/governance';
import { FabricError } from '@toolfabric/kernel';
import { changeRecord, taskKey } from '@toolfabric/ledger';
import type { RouterServices } from './router-services.ts';

const notFound = () => new FabricError('not_found', 'there is no such task');

const eventOf = (task: TaskRecord, n: number, { by, at, writable, hosts }: TaskWidening): FabricEvent => ({
  id: `${task.taskId}:widened.${n}`,
  type: 'task.widened',
  service: 'router',
  tenant: task.actor.tenant,
  at,
  taskId: task.taskId,
  actor: task.actor,
  attributes: {
    by,
    writable: (writable ?? []).join(' ').slice(0, 500),
    hosts: (hosts ?? []).join(' ').slice(0, 500),
  },
});

/**
 * All of them each time: a router that stored one may have died before it told of it. An event follows from what is
 * stored, its id included, so that a repeated one is the same.
 */
const tell = ({ ctx }: RouterServices, task: TaskRecord): void => {
  for (const [at, widening] of (task.widened ?? []).entries()) ctx.ports.events.emit(eventOf(task, at + 1, widening));
};

/**
 * PO-7: a running task may do more from now on, because a person said so who is not the one it works for. Asked for again
 * it changes nothing.
 *
 * Throws `not_found`, `forbidden`, `task_ended`, `invalid_request`.
 */
export const widenTask = async (
  services: RouterServices,
  { approver, taskId, ...more }: RpcRequest<'widenTask'>,
): Promise<TaskRecord> => {
  const { ctx } = services;
  if (!TaskId.safeParse(taskId).success) throw notFound();
  const key = taskKey(approver.tenant, taskId);
  const stored = await ctx.ports.tasks.get(key);
  if (stored === undefined) throw notFound();
  const objection = objectionToWiden(approver, stored.value);
  if (objection !== undefined) throw new FabricError('forbidden', objection);
  if (more.writable === undefined && more.hosts === undefined)
    throw new FabricError('invalid_request', 'say what the task may write or reach beside what it may already');
  const widening: TaskWidening = { by: approver.user, at: ctx.clock.now(), ...more };
  const change = await changeRecord(
    ctx.ports.tasks,
    key,
    (task) => {
      if (task === undefined || task.state === 'ended') return undefined;
      const next = widened(task, widening);
      return next === task ? undefined : next;
    },
    { clock: ctx.clock },
  );
  const task = change.done ? change.value : change.current?.value;
  if (task === undefined) throw notFound();
  ctx.faults.at('router.after-widened');
  services.tasks.forget(task.actor, taskId);
  tell(services, task);
  if (task.state === 'ended') throw new FabricError('task_ended', 'the task has ended');
  return task;
};
