import { readPointer } from '@toolfabric/catalogue';
import { type BoundFile, type CallRecord, type ToolContract, WEEK_MS } from '@toolfabric/contract';
import { digestOf, FabricError, randomId, shortHash } from '@toolfabric/kernel';
import { isAnswered } from '@toolfabric/ledger';
import { resolveTool } from '@toolfabric/routing';
import { readCall } from '../change-call.ts';
import { routeCall } from '../route-call.ts';
import type { RouterServices } from '../router-services.ts';
import { startCall } from '../start-call.ts';
import { startInternal } from '../watch-calls.ts';

/** Reads a file of the workspace and tells the hash of all of it. */
const READER = 'workspace.read_file';
const LOOK_EVERY_MS = 20;
/** Files of one call that are bound; more are refused. */
const MOST_FILES = 20;
/** Stands for the hash of a file that is not there. */
const ABSENT = 'absent';

const pathsIn = ({ governance }: ToolContract, args: CallRecord['args']): string[] => {
  const found = (governance.executes ?? []).flatMap((pointer) => {
    const value = readPointer(args, pointer);
    return (Array.isArray(value) ? value : [value]).filter((item) => typeof item === 'string');
  });
  const paths = [...new Set(found)].sort();
  if (paths.length > MOST_FILES)
    throw new FabricError('too_large', `a call that needs a person names at most ${MOST_FILES} files that it runs`);
  return paths;
};

/** A read of the fabric itself, as the actor of the call and in its workspace; no policy has to allow it a second time. */
const readerCall = async (services: RouterServices, call: CallRecord, path: string): Promise<CallRecord> => {
  const { ctx, registry, policy } = services;
  const { contract, digest } = resolveTool(registry.index, READER, {});
  const { execution, output } = contract;
  const route = await routeCall(services, contract);
  const now = ctx.clock.now();
  const args = { path };
  const { actor, taskId, workspace, pin } = call;
  return {
    callId: `${Math.floor(now / WEEK_MS)}-${shortHash('bound', call.callId, path, randomId())}`,
    actor,
    taskId,
    tool: { name: contract.name, version: contract.version, digest },
    handler: execution.handler,
    kind: route.kind,
    priority: 'hi',
    effect: 'none',
    risk: 'read',
    claim: 'none',
    rerunnable: true,
    args,
    argsHash: digestOf(args),
    ...(workspace === undefined ? {} : { workspace }),
    ...(pin === undefined || route.kind !== call.kind ? {} : { pin }),
    decision: {
      policyVersion: policy.version,
      rule: 'internal.bound_file',
      limits: { timeoutMs: execution.timeout_ms, outputBytes: output.budget_bytes },
    },
    state: 'queued',
    epoch: 1,
    createdAt: now,
    deadline: now + execution.timeout_ms,
  };
};

const endOf = async ({ ctx }: RouterServices, { actor, callId }: CallRecord): Promise<CallRecord> => {
  const until = ctx.clock.monotonic() + ctx.pace.rpcAttemptMs * 0.7;
  while (ctx.clock.monotonic() < until) {
    const call = (await readCall(ctx, actor.tenant, callId))?.value;
    if (call && isAnswered(call.state)) return call;
    await ctx.clock.sleep(LOOK_EVERY_MS);
  }
  throw new FabricError('unavailable', 'a file that would run cannot be looked at now; send the same request again');
};

const hashOf = async (services: RouterServices, call: CallRecord, path: string): Promise<BoundFile> => {
  const reader = await readerCall(services, call, path);
  await startInternal(services.ctx, reader, (record) => startCall(services.ctx, record));
  const { result } = await endOf(services, reader);
  const { sha256 } = (result?.data ?? {}) as { sha256?: unknown };
  if (result?.status === 'ok' && typeof sha256 === 'string') return { path, sha256 };
  if (result?.error?.type === 'file_not_found') return { path, sha256: ABSENT };
  throw result?.error === undefined
    ? new FabricError('unavailable', 'a file that would run cannot be looked at now')
    : FabricError.fromToolError(result.error);
};

/**
 * The files of the workspace that this call would run or send, as they are now. Throws what its executor says about one
 * that cannot be read, since a person would not know what they say yes to.
 */
export const boundFiles = async (
  services: RouterServices,
  contract: ToolContract,
  call: CallRecord,
): Promise<BoundFile[]> => {
  const paths = pathsIn(contract, call.args);
  if (paths.length === 0) return [];
  if (call.workspace === undefined)
    throw new FabricError('invalid_arguments', 'it names files of a workspace, and the task has none');
  return Promise.all(paths.map((path) => hashOf(services, call, path)));
};

export const isSameFiles = (was: readonly BoundFile[] = [], is: readonly BoundFile[]): boolean =>
  digestOf(was) === digestOf(is);
