import { HttpOperation, isSafeMethod, type Outcome } from '@toolfabric/contract';
import { FabricError } from '@toolfabric/kernel';
import { type EgressSession, RequestBroken } from '@toolfabric/ports';
import { defineTool, type ProbeAnswer, type ToolContext } from '@toolfabric/worker-runtime';
import { z } from 'zod';
import type { Driver } from '../driver.ts';
import { type BuiltRequest, buildRequest } from './build-request.ts';
import { askedFor, outcomeOf, refusedOutcome } from './outcome-of.ts';
import { readAnswer } from './read-answer.ts';

const Args = z.record(z.string(), z.json());
type Args = z.infer<typeof Args>;

const operationOf = ({ options }: ToolContext): HttpOperation => {
  const parsed = HttpOperation.safeParse(options);
  if (parsed.success) return parsed.data;
  throw new FabricError('contract_invalid', 'the contract names no operation that can be asked for');
};

const wayOut = ({ egress }: ToolContext): EgressSession => {
  if (egress !== undefined) return egress;
  throw new FabricError('egress_unavailable', 'this call has no leave to go out');
};

/** A read changes nothing: a connection that broke is a failure of the read, and no more than that. */
const read = async (ctx: ToolContext, operation: HttpOperation, request: BuiltRequest): Promise<Outcome> => {
  try {
    const response = await wayOut(ctx).request({ ...request, signal: ctx.signal });
    return await outcomeOf(ctx, operation, request, await readAnswer(response, ctx.signal));
  } catch (thrown) {
    if (ctx.signal.aborted || thrown instanceof FabricError) throw thrown;
    throw new FabricError('host_unreachable', `${request.url.host} broke off before it had answered`, {
      cause: thrown,
    });
  }
};

/** The way out promises that nothing was sent when it throws a `FabricError`; whatever else is thrown is not known. */
const send = async (ctx: ToolContext, egress: EgressSession, request: BuiltRequest) => {
  try {
    return await egress.request({ ...request, signal: ctx.signal });
  } catch (thrown) {
    if (ctx.signal.aborted || thrown instanceof RequestBroken || !(thrown instanceof FabricError)) throw thrown;
    return refusedOutcome(thrown.type, `${askedFor(request)}: ${thrown.message}`, thrown.details.retryAfterMs);
  }
};

const write = async (ctx: ToolContext, operation: HttpOperation, request: BuiltRequest): Promise<Outcome> => {
  const egress = wayOut(ctx);
  await ctx.beginEffect({ asked: askedFor(request), host: request.url.host });
  const response = await send(ctx, egress, request);
  ctx.faults.at('worker.after-write');
  if (!('body' in response)) return response;
  return outcomeOf(ctx, operation, request, await readAnswer(response, ctx.signal));
};

/** Without a question that the interface could be asked, only a person can say what became of a write. */
const nobodyKnows: ProbeAnswer = {
  answer: 'not_visible',
  reason: 'the interface has no question that tells what became of it: a person has to look',
};

/**
 * `http.request`: one operation of a declared interface, as `execution.options` of its contract holds it. Anything but
 * a safe method is an effect: it is begun before the request leaves, and an answer that does not prove its end leaves
 * it unknown.
 */
export const httpRequestTool = ({ agent }: Pick<Driver, 'agent'>) =>
  defineTool<Args>({
    handler: 'http.request',
    effect: 'outside',
    args: Args,
    async handle(ctx, args) {
      const operation = operationOf(ctx);
      const request = buildRequest(operation, args, { agent, key: ctx.operationKey });
      return isSafeMethod(operation.method) ? read(ctx, operation, request) : write(ctx, operation, request);
    },
    probe: async () => nobodyKnows,
  });
