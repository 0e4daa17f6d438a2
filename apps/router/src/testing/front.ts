import { RPC, RpcFailure, type RpcReply, type RpcRequest, type RpcVerb } from '@toolfabric/contract';
import { FabricError, uuidv7 } from '@toolfabric/kernel';
import { z } from 'zod';
import { ADA } from './sample-call.ts';

type Ask = (verb: string, body: string) => Promise<string>;
type CallRequest = RpcRequest<'call'>;

const Answered = z.object({ ok: z.json() });

/** For tests: speaks to a router as a gateway does, and checks that each answer has the shape of its verb. */
export class Front {
  readonly #ask: Ask;

  constructor(ask: Ask) {
    this.#ask = ask;
  }

  /** Throws the error that the router answered with. */
  async ask<V extends RpcVerb>(verb: V, request: RpcRequest<V>): Promise<RpcReply<V>> {
    const text = await this.#ask(verb, JSON.stringify(request));
    const failure = RpcFailure.safeParse(JSON.parse(text));
    if (failure.success) throw FabricError.fromToolError(failure.data.error);
    const { ok } = Answered.parse(JSON.parse(text));
    return RPC[verb].reply.parse(ok) as RpcReply<V>;
  }

  async task(actor = ADA): Promise<string> {
    const { taskId } = await this.ask('createTask', { actor, requestKey: uuidv7(), title: 'a task' });
    return taskId;
  }

  call(changes: Partial<CallRequest> & Pick<CallRequest, 'taskId'>): Promise<RpcReply<'call'>> {
    return this.ask('call', {
      actor: ADA,
      requestKey: uuidv7(),
      tool: 'notes.find',
      args: { text: 'retry' },
      ...changes,
    });
  }
}
