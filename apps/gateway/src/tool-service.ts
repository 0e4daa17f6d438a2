import { CallId, type CallView, type ToolSummary } from '@toolfabric/contract';
import { type Clock, FabricError, type Faults, type Metrics, type Pace, requestKeyTime } from '@toolfabric/kernel';
import type { GatewayPorts } from '@toolfabric/ports';
import {
  callViewToWire,
  modelToolToWire,
  type ToolServiceServer,
  taskOutcomeFromWire,
  taskRulesFromWire,
  taskToWire,
  testCommandFromWire,
  toolSummaryToWire,
  workspaceSourceFromWire,
} from '@toolfabric/proto';
import { approverOf } from './approver-of.ts';
import type { FrontDoor } from './front-door.ts';
import { fromWire, invalidField } from './invalid-request.ts';
import { type InvokeDeps, invokeTool } from './invoke-tool.ts';
import type { GatewayLimits } from './limits.ts';
import type { PendingCalls } from './pending-calls.ts';
import { checkTaskId, checkTool } from './read-proposal.ts';
import { patienceOf, type RequestContext } from './request-context.ts';
import type { RouterClient } from './router-client.ts';
import { watchCall } from './watch-call.ts';

/** Pages of one listing that are put together; a gRPC answer of the client's default size holds no more. */
const MOST_PAGES = 60;

export interface ToolServiceDeps {
  readonly door: FrontDoor;
  readonly router: RouterClient;
  readonly pending: PendingCalls;
  readonly ports: GatewayPorts;
  readonly clock: Clock;
  readonly faults: Faults;
  readonly pace: Pace;
  readonly limits: GatewayLimits;
  readonly metrics: Metrics;
}

export const createToolService = (deps: ToolServiceDeps): ToolServiceServer => ({
  ...taskVerbs(deps),
  ...catalogueVerbs(deps),
  ...callVerbs(deps),
});

const taskVerbs = ({ door, router, clock, pace }: ToolServiceDeps) => {
  const patience = patienceOf(pace);
  return {
    createTask: door.unary(
      async ({ requestKey, title, workspace: source, testCommand: declared, ...said }, context) => {
        const { actor } = context.identity;
        requestKeyTime(requestKey, clock.now());
        const workspace = source && fromWire('workspace', () => workspaceSourceFromWire(source));
        const testCommand = declared && testCommandFromWire(declared);
        const request = {
          actor,
          requestKey,
          title,
          ...(workspace && { workspace }),
          ...(testCommand && { testCommand }),
          ...fromWire('mode', () => taskRulesFromWire(said)),
        };
        return { task: taskToWire(await router.ask('createTask', request, patience(context))) };
      },
    ),
    getTask: door.unary(async ({ taskId }, context) => {
      checkTaskId(taskId);
      const { actor } = context.identity;
      return { task: taskToWire(await router.ask('getTask', { actor, taskId }, patience(context))) };
    }),
    widenTask: door.unary(async ({ taskId, writable, hosts, note }, context) => {
      checkTaskId(taskId);
      const request = {
        approver: approverOf(context.identity),
        taskId,
        ...(writable.length === 0 ? {} : { writable }),
        ...(hosts.length === 0 ? {} : { hosts }),
        ...(note === undefined ? {} : { note }),
      };
      return { task: taskToWire(await router.ask('widenTask', request, patience(context))) };
    }),
    endTask: door.unary(async ({ taskId, outcome: said }, context) => {
      checkTaskId(taskId);
      const { actor } = context.identity;
      const outcome = fromWire('outcome', () => taskOutcomeFromWire(said));
      return { task: taskToWire(await router.ask('endTask', { actor, taskId, outcome }, patience(context))) };
    }),
  } satisfies Partial<ToolServiceServer>;
};

const catalogueVerbs = ({ door, router, pace }: ToolServiceDeps) => {
  const patience = patienceOf(pace);
  return {
    listTools: door.unary(async ({ allStates }, context) => {
      const { actor } = context.identity;
      const tools: ToolSummary[] = [];
      for (let after: string | undefined, page = 0; ; page += 1) {
        const asked = { actor, allStates, ...(after === undefined ? {} : { after }) };
        const answer = await router.ask('listTools', asked, patience(context));
        tools.push(...answer.tools);
        after = answer.next;
        if (after === undefined)
          return { tools: tools.map(toolSummaryToWire), catalogueDigest: answer.catalogueDigest };
        if (page >= MOST_PAGES) throw new FabricError('too_large', 'the catalogue is larger than one answer may be');
      }
    }),
    describeTool: door.unary(async ({ tool }, context) => {
      checkTool(tool);
      const { actor } = context.identity;
      const { summary, model } = await router.ask('describeTool', { actor, tool }, patience(context));
      return { summary: toolSummaryToWire(summary), model: modelToolToWire(model) };
    }),
  } satisfies Partial<ToolServiceServer>;
};

/** Reads a call of the one who asks. */
export const ownCall =
  ({ router, pace }: Pick<ToolServiceDeps, 'router' | 'pace'>, verb: 'getCall' | 'cancelCall') =>
  async (callId: string, context: RequestContext): Promise<CallView> => {
    if (!CallId.safeParse(callId).success) throw invalidField('call_id', 'the id of a call');
    const body = JSON.stringify({ actor: context.identity.actor, callId });
    return router.view(verb, body, patienceOf(pace)(context));
  };

const callVerbs = (deps: ToolServiceDeps) => {
  const { door, router, pending, ports, clock, faults, pace, limits, metrics } = deps;
  const { events } = ports;
  const invoke: InvokeDeps = { router, pending, events, metrics, clock, faults, acceptMs: 2 * pace.rpcAttemptMs };
  const [getCall, cancelCall] = [ownCall(deps, 'getCall'), ownCall(deps, 'cancelCall')];
  const answer = (view: CallView) => ({ call: callViewToWire(view) });
  return {
    call: door.unary(async ({ proposal, waitMs = limits.defaultWaitMs }, context) =>
      answer(await invokeTool(invoke, proposal, Math.min(waitMs, limits.longestWaitMs), context)),
    ),
    startCall: door.unary(async ({ proposal }, context) => answer(await invokeTool(invoke, proposal, 0, context))),
    getCall: door.unary(async ({ callId }, context) => answer(await getCall(callId, context))),
    cancelCall: door.unary(async ({ callId }, context) => answer(await cancelCall(callId, context))),
    watchCall: door.stream(({ callId }, context, out) => watchCall({ ports, pending, getCall }, callId, context, out)),
  } satisfies Partial<ToolServiceServer>;
};
