import { contractDigests } from '@toolfabric/catalogue';
import {
  type Actor,
  type CallRecord,
  effectOf,
  type RegistryRecord,
  type RpcRequest,
  type TaskRecord,
  WEEK_MS,
} from '@toolfabric/contract';
import { digestOf, FabricError, shortHash, taskIdFor } from '@toolfabric/kernel';
import { changeRecord, createRecord, isAnswered, taskKey } from '@toolfabric/ledger';
import { resolveTool } from '@toolfabric/routing';
import { readCall } from './change-call.ts';
import { routeCall } from './route-call.ts';
import type { RouterServices } from './router-services.ts';
import { startCall } from './start-call.ts';

/** The internal tool that makes the workspace of a task ready. */
const PREPARE_TOOL = 'workspace.prepare';
/** How often the end of that call is looked for, in milliseconds. */
const LOOK_EVERY_MS = 40;

const isSame = (a: Actor, b: Actor): boolean => a.tenant === b.tenant && a.user === b.user && a.agent === b.agent;

const readOwnTask = async (services: RouterServices, actor: Actor, taskId: string) => {
  const key = taskKey(actor.tenant, taskId);
  const stored = /^t-[0-9a-z]{26}$/.test(taskId) ? await services.ctx.ports.tasks.get(key) : undefined;
  if (!stored || !isSame(stored.value.actor, actor)) throw new FabricError('not_found', 'there is no such task');
  return { key, stored };
};

export const getTask = async (services: RouterServices, actor: Actor, taskId: string): Promise<TaskRecord> =>
  (await readOwnTask(services, actor, taskId)).stored.value;

/** One call of the fabric itself, on the same path as every other; its id follows from the task, so that it is made once. */
const prepareCall = async (services: RouterServices, task: TaskRecord, tool: RegistryRecord): Promise<CallRecord> => {
  const { contract } = tool;
  const now = services.ctx.clock.now();
  const route = await routeCall(services, contract);
  const { governance, execution, output } = contract;
  return {
    callId: `${Math.floor(task.createdAt / WEEK_MS)}-${shortHash('prepare', task.taskId)}`,
    actor: task.actor,
    taskId: task.taskId,
    tool: { name: contract.name, version: contract.version, digest: contractDigests(contract).digest },
    handler: execution.handler,
    kind: route.kind,
    priority: 'hi',
    effect: effectOf(governance.risk),
    claim: governance.claimless ? 'none' : 'required',
    rerunnable: governance.idempotent,
    args: {},
    argsHash: digestOf({}),
    ...(task.workspace === undefined ? {} : { workspace: task.workspace }),
    decision: {
      policyVersion: services.policy.version,
      rule: 'internal.prepare_workspace',
      limits: { timeoutMs: execution.timeout_ms, outputBytes: output.budget_bytes },
    },
    ...(governance.reconcile === undefined
      ? {}
      : { reconcile: { fence: governance.reconcile.fence, windowMs: governance.reconcile.window_ms } }),
    state: 'queued',
    epoch: 1,
    createdAt: now,
    deadline: now + execution.timeout_ms + 30_000,
  };
};

const waitForEnd = async (services: RouterServices, tenant: string, callId: string, until: number) => {
  const { ctx } = services;
  while (ctx.clock.monotonic() < until) {
    const call = await readCall(ctx, tenant, callId);
    if (call && isAnswered(call.value.state)) return call.value;
    await ctx.clock.sleep(LOOK_EVERY_MS);
  }
  throw new FabricError('unavailable', 'the workspace is still being prepared; send the same request again');
};

const prepareWorkspace = async (services: RouterServices, task: TaskRecord): Promise<void> => {
  const { ctx } = services;
  const record = await prepareCall(
    services,
    task,
    resolveTool(services.registry.index, PREPARE_TOOL, { internal: true }),
  );
  await startCall(ctx, record);
  const until = ctx.clock.monotonic() + record.decision.limits.timeoutMs;
  const call = await waitForEnd(services, task.actor.tenant, record.callId, until);
  if (call.state === 'ok') return;
  const error = call.result?.error;
  if (error) throw FabricError.fromToolError(error);
  throw new FabricError('workspace_missing', call.result?.summary ?? 'the workspace could not be prepared');
};

const changeTask = async (
  services: RouterServices,
  task: TaskRecord,
  change: Partial<TaskRecord>,
): Promise<TaskRecord> => {
  const { ctx } = services;
  const done = await changeRecord(
    ctx.ports.tasks,
    taskKey(task.actor.tenant, task.taskId),
    (current) => (current && current.state !== 'ended' ? { ...current, ...change } : undefined),
    { clock: ctx.clock },
  );
  return done.done ? done.value : (done.current?.value ?? task);
};

const emitTask = (services: RouterServices, task: TaskRecord, type: 'task.created' | 'task.ended'): void => {
  const { ctx } = services;
  ctx.ports.events.emit({
    id: `${task.taskId}:${type}`,
    type,
    service: 'router',
    tenant: task.actor.tenant,
    at: ctx.clock.now(),
    taskId: task.taskId,
    attributes: { state: task.state, outcome: task.outcome ?? '' },
  });
};

/** Create-or-verify by the request key; a retry goes on where an earlier try stopped. */
export const createTask = async (services: RouterServices, request: RpcRequest<'createTask'>): Promise<TaskRecord> => {
  const { ctx } = services;
  const now = ctx.clock.now();
  const taskId = taskIdFor(request.actor, request.requestKey, now);
  const { workspace } = request;
  const wanted: TaskRecord = {
    taskId,
    actor: request.actor,
    title: request.title,
    ...(workspace === undefined ? {} : { workspace: { id: taskId, source: workspace } }),
    state: workspace === undefined ? 'open' : 'preparing',
    createdAt: now,
  };
  const created = await createRecord(ctx.ports.tasks, taskKey(request.actor.tenant, taskId), wanted, {
    clock: ctx.clock,
  });
  const task = created.done ? wanted : (created.current?.value ?? wanted);
  const isOther =
    task.title !== wanted.title || digestOf(task.workspace ?? null) !== digestOf(wanted.workspace ?? null);
  if (isOther) throw new FabricError('conflict', 'this request key was used before, for another task');
  if (task.state !== 'preparing') return task;
  try {
    await prepareWorkspace(services, task);
  } catch (thrown) {
    // What cannot become a workspace ends the task; an outage leaves it to the retry.
    if (thrown instanceof FabricError && thrown.type !== 'unavailable' && thrown.type !== 'no_executor')
      await changeTask(services, task, { state: 'ended', outcome: 'failed', endedAt: ctx.clock.now() });
    throw thrown;
  }
  const open = await changeTask(services, task, { state: 'open' });
  emitTask(services, open, 'task.created');
  return open;
};

/** Ends a task once; a second end with the same outcome gives the same answer. */
export const endTask = async (services: RouterServices, request: RpcRequest<'endTask'>): Promise<TaskRecord> => {
  const { stored } = await readOwnTask(services, request.actor, request.taskId);
  if (stored.value.state === 'ended') {
    if (stored.value.outcome === request.outcome) return stored.value;
    throw new FabricError('task_ended', 'the task has ended with another outcome');
  }
  const { outcome } = request;
  const ended = await changeTask(services, stored.value, {
    state: 'ended',
    outcome,
    endedAt: services.ctx.clock.now(),
  });
  emitTask(services, ended, 'task.ended');
  return ended;
};
