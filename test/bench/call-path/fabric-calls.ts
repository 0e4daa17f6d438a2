import { connectFabric, type FabricClient } from '@toolfabric/client';
import type { FabricPoint, FabricTool } from './jobs.ts';
import type { OneCall } from './run-load.ts';

/** The callers of one fabric: a client for each actor, through the public client library. */
export class FabricCalls {
  readonly #clients: readonly { readonly client: FabricClient; readonly taskId: string }[];
  #count = 0;

  constructor({ address, actors }: FabricPoint) {
    this.#clients = actors.map(({ token, taskId }) => ({ client: connectFabric({ address, token }), taskId }));
  }

  /** Calls go round the first `actors` actors. */
  call(tool: FabricTool, actors: number): OneCall {
    const clients = this.#clients.slice(0, actors);
    return async () => {
      this.#count += 1;
      const chosen = clients[this.#count % clients.length];
      if (!chosen) throw new Error('no actor');
      const args = tool === 'truth.noop' ? {} : { identity: `order-${process.pid}-${this.#count}` };
      const view = await chosen.client.call({ taskId: chosen.taskId, tool, args });
      if (view.state !== 'ok') throw new Error(`${view.state}: ${view.result?.error?.type ?? ''}`);
      return view.callId;
    };
  }

  close(): void {
    for (const { client } of this.#clients) client.close();
  }
}
