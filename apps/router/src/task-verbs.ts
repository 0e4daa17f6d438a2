import { contractDigests } from '@toolfabric/catalogue';
import {
  type Actor,
  type CallRecord,
  effectOf,
  type RegistryRecord,
  type RpcRequest,
  type TaskRecord,
  type ToolError,
  WEEK_MS,
} from '@toolfabric/contract';
import { checkConstraintsThemselves } from '@toolfabric/governance';
import { digestOf, FabricError, shortHash, taskIdFor } from '@toolfabric/kernel';
import { changeRecord, createRecord, isAnswered, taskKey } from '@toolfabric/ledger';
import { resolveTool } from '@toolfabric/routing';
import { readCall } from './change-call.ts';
import { checkRoom } from './check-room.ts';
import { declareCommand } from './declare-command.ts';
import { routeCall } from './route-call.ts';
import type { RouterServices } from './router-services.ts';
import { startCall } from './start-call.ts';
import { startInternal } from './watch-calls.ts';

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

/** Tries of one preparation; each has a call of its own. */
const MOST_TRIES = 8;

const prepareCallId = (task: TaskRecord, attempt: number): string =>
  `${Math.floor(task.createdAt / WEEK_MS)}-${shortHash('prepare', task.taskId, attempt)}`;

/** One call of the fabric itself, on the same path as every other; its id follows from the task and the try. */
const prepareCall = async (
  services: RouterServices,
  task: TaskRecord,
  tool: RegistryRecord,
  attempt: number,
): Promise<CallRecord> => {
  const { contract } = tool;
  const now = services.ctx.clock.now();
  const route = await routeCall(services, contract);
  const { governance, execution, output } = contract;
  return {
    callId: prepareCallId(task, attempt),
    actor: task.actor,
    taskId: task.taskId,
    tool: { name: contract.name, version: contract.version, digest: contractDigests(contract).digest },
    handler: execution.handler,
    kind: route.kind,
    priority: 'hi',
    effect: effectOf(governance.risk),
    risk: governance.risk,
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

const waitForEnd = async (services: RouterServices, tenant: string, callId: string): Promise<CallRecord> => {
  const { ctx } = services;
  const until = ctx.clock.monotonic() + ctx.pace.rpcAttemptMs * 0.8;
  while (ctx.clock.monotonic() < until) {
    const call = await readCall(ctx, tenant, callId);
    if (call && isAnswered(call.value.state)) return call.value;
    await ctx.clock.sleep(LOOK_EVERY_MS);
  }
  throw new FabricError('unavailable', 'the workspace is still being prepared; send the same request again');
};

/** Why this try gave no workspace, when that is for good; anything else is worth another try. */
const refusalOf = (call: CallRecord): ToolError | undefined => {
  const error = call.result?.error;
  return error !== undefined && error.layer === 'sandbox' && !error.retryable ? error : undefined;
};

/**
 * Resolves when the workspace is ready. A try that ended for another reason than the workspace itself (its worker was
 * shut down, its deadline passed) is followed by the next one.
 */
const prepareWorkspace = async (services: RouterServices, task: TaskRecord): Promise<ToolError | undefined> => {
  const { ctx } = services;
  const tool = resolveTool(services.registry.index, PREPARE_TOOL, { internal: true });
  for (let attempt = 1; attempt <= MOST_TRIES; attempt += 1) {
    const earlier = await readCall(ctx, task.actor.tenant, prepareCallId(task, attempt));
    if (!earlier)
      await startInternal(ctx, await prepareCall(services, task, tool, attempt), (call) => startCall(ctx, call));
    const call = await waitForEnd(services, task.actor.tenant, prepareCallId(task, attempt));
    if (call.state === 'ok') return undefined;
    const refusal = refusalOf(call);
    if (refusal) return refusal;
  }
  throw new FabricError('unavailable', 'the workspace could not be prepared; send the same request again later');
};

/** One preparation a task at a time in this router, however often it is asked for. */
const preparing = new WeakMap<RouterServices, Map<string, Promise<ToolError | undefined>>>();

const prepareOnce = (services: RouterServices, task: TaskRecord): Promise<ToolError | undefined> => {
  const running = preparing.get(services) ?? new Map<string, Promise<ToolError | undefined>>();
  preparing.set(services, running);
  const present = running.get(task.taskId);
  if (present) return present;
  const started = prepareWorkspace(services, task).finally(() => running.delete(task.taskId));
  running.set(task.taskId, started);
  return started;
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
    actor: task.actor,
    attributes: {
      state: task.state,
      outcome: task.outcome ?? '',
      workspace: task.workspace?.source.type ?? '',
      ...(task.endedAt === undefined ? {} : { durationMs: task.endedAt - task.createdAt }),
      ...(task.failure === undefined ? {} : { error: task.failure.type, errorLayer: task.failure.layer }),
    },
  });
};

type Rules = Pick<TaskRecord, 'constraints' | 'budget' | 'mode'>;

const rulesOf = ({ constraints, budget, mode }: Rules | RpcRequest<'createTask'>): Rules => ({
  ...(constraints === undefined ? {} : { constraints }),
  ...(budget === undefined ? {} : { budget }),
  ...(mode === undefined ? {} : { mode }),
});

/** Create-or-verify by the request key; a retry goes on where an earlier try stopped. */
export const createTask = async (services: RouterServices, request: RpcRequest<'createTask'>): Promise<TaskRecord> => {
  const { ctx } = services;
  const now = ctx.clock.now();
  const taskId = taskIdFor(request.actor, request.requestKey, now);
  checkRoom(services);
  if (request.constraints !== undefined) checkConstraintsThemselves(request.constraints);
  const { workspace } = request;
  const wanted: TaskRecord = {
    taskId,
    actor: request.actor,
    title: request.title,
    ...(workspace === undefined ? {} : { workspace: { id: taskId, source: workspace } }),
    ...(request.testCommand === undefined ? {} : { testCommand: declareCommand(request.testCommand) }),
    ...rulesOf(request),
    state: workspace === undefined ? 'open' : 'preparing',
    createdAt: now,
  };
  const created = await createRecord(ctx.ports.tasks, taskKey(request.actor.tenant, taskId), wanted, {
    clock: ctx.clock,
  });
  const task = created.done ? wanted : (created.current?.value ?? wanted);
  const isOther =
    task.title !== wanted.title ||
    task.testCommand?.sha256 !== wanted.testCommand?.sha256 ||
    digestOf(task.workspace ?? null) !== digestOf(wanted.workspace ?? null) ||
    digestOf(rulesOf(task)) !== digestOf(rulesOf(wanted));
  if (isOther) throw new FabricError('conflict', 'this request key was used before, for another task');
  if (task.failure) throw FabricError.fromToolError(task.failure);
  if (task.state !== 'preparing') {
    if (task.state === 'open') emitTask(services, task, 'task.created');
    return task;
  }
  const failure = await prepareOnce(services, task);
  if (failure) {
    // What cannot become a workspace ends the task, and every retry hears why.
    const end = { state: 'ended', outcome: 'failed', failure, endedAt: ctx.clock.now() } as const;
    emitTask(services, await changeTask(services, task, end), 'task.ended');
    throw FabricError.fromToolError(failure);
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
  services.tasks.forget(request.actor, request.taskId);
  const ended = await changeTask(services, stored.value, {
    state: 'ended',
    outcome,
    endedAt: services.ctx.clock.now(),
  });
  // Somebody else ended it first, and otherwise.
  if (ended.outcome !== outcome) throw new FabricError('task_ended', 'the task has ended with another outcome');
  emitTask(services, ended, 'task.ended');
  return ended;
};
