import type { Outcome, WorkBody } from '@toolfabric/contract';
import { FabricError, type Json, toFabricError } from '@toolfabric/kernel';
import { unknownOutcome } from '@toolfabric/ledger';
import { type EgressSession, StoreUnavailable } from '@toolfabric/ports';
import { checkOutcome, MAX_INTENT_BYTES } from './bound-outcome.ts';
import type { AnyTool, ProbeAnswer, ToolContext } from './define-tool.ts';
import { plainRedactor, type Redactor, redactorOf } from './redactor.ts';
import { shapeOutcome } from './shape-outcome.ts';
import type { WorkerContext } from './worker-context.ts';

/** How long a tool may take to give up after its signal was aborted. */
export const GIVE_UP_MS = 5_000;

export interface Execution {
  readonly signal: AbortSignal;
  /** Stores `started`; for a claimless call it refuses, since a read has no effect to begin. */
  readonly begin: (intent: Json) => Promise<void>;
}

interface OpenExecution extends Execution {
  readonly ended: () => boolean;
}

/** Why an execution was stopped, as an error that its caller can read. */
const stopError = (signal: AbortSignal): FabricError =>
  signal.reason instanceof FabricError ? signal.reason : new FabricError('cancelled', 'the execution was stopped');

/** Redacted before it is cut: half a secret would not be found any more. */
const errorOf = (error: FabricError, redactor: Redactor): Outcome => {
  const { hint } = error.details;
  const details = { ...error.details, ...(hint === undefined ? {} : { hint: redactor.text(hint) }) };
  const told = new FabricError(error.type, redactor.text(error.message), details);
  return {
    status: 'error',
    summary: told.message.slice(0, 4096),
    sideEffect: 'none',
    trust: 'trusted',
    error: told.toToolError(),
  };
};

type Shape = (returned: unknown) => Outcome;

/** The answer of a probe travels as data; a receipt in it is shaped as the outcome that it will become. */
const endOfProbe = (answer: ProbeAnswer, shape: Shape, redactor: Redactor): Outcome => {
  const data =
    answer.answer === 'found'
      ? { ...answer, receipt: shape(answer.receipt) }
      : answer.answer === 'not_visible'
        ? { ...answer, reason: redactor.text(answer.reason).slice(0, 1000) }
        : answer;
  return {
    status: 'ok',
    summary: `probe: ${answer.answer}`,
    data: data as unknown as NonNullable<Outcome['data']>,
    sideEffect: 'none',
    trust: 'trusted',
  };
};

const contextOf = (
  ctx: WorkerContext,
  body: WorkBody,
  redactor: Redactor,
  execution: OpenExecution,
  egress: EgressSession | undefined,
  begun: () => void,
): ToolContext => ({
  callId: body.callId,
  epoch: body.epoch,
  operationKey: body.operation ?? body.parentCallId ?? body.callId,
  actor: body.actor,
  taskId: body.taskId,
  options: (body.options ?? {}) as Readonly<Record<string, Json>>,
  signal: execution.signal,
  clock: ctx.clock,
  limits: body.decision.limits,
  outputTokens: body.decision.limits.outputTokens,
  workspace: body.workspace,
  background: body.background === true,
  testCommand: body.testCommand,
  writable: body.writable,
  approval: body.approvalDigest,
  boundFiles: body.mode === 'run' ? body.boundFiles : undefined,
  analysis: body.analysis,
  artifacts: body.permit === undefined ? undefined : ctx.artifacts?.session(body.permit, body.traceparent),
  egress,
  redactor,
  faults: ctx.faults,
  progress: (message, fraction) =>
    ctx.ports.progress(body.tenant, body.callId, redactor.text(message).slice(0, 1000), fraction),
  beginEffect: async (intent) => {
    if (execution.signal.aborted) throw stopError(execution.signal);
    if (Buffer.byteLength(JSON.stringify(intent)) > MAX_INTENT_BYTES)
      throw new FabricError('tool_failed', 'what the tool means to do takes more room than a claim has');
    await execution.begin(intent);
    // The execution may have been given up while the store was slow: then nothing may be written any more.
    if (execution.ended()) throw stopError(execution.signal);
    begun();
    ctx.faults.at('worker.started');
  },
});

/** The way out of one execution, where it has leave. */
const sessionOf = ({ egress }: WorkerContext, body: WorkBody): EgressSession | undefined => {
  if (body.egress === undefined) return undefined;
  if (egress === undefined) throw new FabricError('egress_unavailable', 'this worker has no way out');
  return egress.session(body.egress);
};

const call = async (tool: AnyTool, toolContext: ToolContext, body: WorkBody): Promise<Outcome> => {
  const { redactor, limits } = toolContext;
  const shape: Shape = (returned) => shapeOutcome(returned, redactor, limits);
  const args: unknown = tool.args.parse(body.args);
  if (body.mode === 'run') {
    const returned = await tool.handle(toolContext, args);
    toolContext.faults.at('worker.handled');
    return shape(returned);
  }
  if (!tool.probe) throw new FabricError('internal', 'the tool has no probe');
  return endOfProbe(await tool.probe(toolContext, args, body.intent as Json | undefined), shape, redactor);
};

/** Resolves once the tool had its time to give up; so an execution ends even when its tool never does. */
const givenUp = (ctx: WorkerContext, signal: AbortSignal, ended: AbortSignal): Promise<'given_up'> =>
  new Promise((resolve) => {
    const wait = () => ctx.clock.sleep(GIVE_UP_MS, ended).then(() => resolve('given_up'));
    if (signal.aborted) wait();
    else signal.addEventListener('abort', wait, { once: true });
  });

/** Workspace tools that are idempotent need no `started`: they are simply run again (protocol 5). */
const mayRunAgain = (body: WorkBody): boolean => body.rerunnable && body.effect === 'workspace';

const endOfThrown = (
  ctx: WorkerContext,
  body: WorkBody,
  thrown: unknown,
  began: boolean,
  redactor: Redactor,
): Outcome => {
  const error = toFabricError(thrown, thrown instanceof StoreUnavailable ? 'unavailable' : 'tool_failed');
  ctx.log.warn('tool.failed', { callId: body.callId, handler: body.handler, type: error.type });
  return began
    ? unknownOutcome(`The action began, and then it ended with: ${redactor.text(error.message)}`.slice(0, 4096))
    : shapeOutcome(errorOf(error, redactor), redactor, body.decision.limits);
};

/**
 * Every way in which an execution can end, as an outcome; never throws. Once the effect has begun, an end that the
 * tool did not report itself is `unknown` (L3, protocol 7).
 */
export const runTool = async (
  ctx: WorkerContext,
  tool: AnyTool,
  body: WorkBody,
  execution: Execution,
): Promise<Outcome> => {
  const startedAt = ctx.clock.monotonic();
  let began = false;
  const ended = new AbortController();
  const begun = () => {
    began = true;
  };
  let redactor = plainRedactor;
  let egress: EgressSession | undefined;
  let outcome: Outcome;
  try {
    redactor = redactorOf(ctx, body);
    egress = sessionOf(ctx, body);
    const open = { ...execution, ended: () => ended.signal.aborted };
    const running = call(tool, contextOf(ctx, body, redactor, open, egress, begun), body);
    const first = await Promise.race([running, givenUp(ctx, execution.signal, ended.signal)]);
    if (first === 'given_up') {
      ctx.strays.add(running);
      throw stopError(execution.signal);
    }
    outcome = checkOutcome(first, began || mayRunAgain(body));
  } catch (thrown) {
    outcome = endOfThrown(ctx, body, execution.signal.aborted ? stopError(execution.signal) : thrown, began, redactor);
  } finally {
    ended.abort('over');
    await egress?.close();
  }
  return { ...outcome, usage: { ...outcome.usage, durationMs: Math.round(ctx.clock.monotonic() - startedAt) } };
};
