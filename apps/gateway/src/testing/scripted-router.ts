import {
  type Actor,
  type CallView,
  type FabricEvent,
  type ProgressNotice,
  RPC,
  type RpcVerb,
  type SettledNotice,
  type ToolResult,
  type VisibleState,
} from '@toolfabric/contract';
import { callIdFor, FabricError, toFabricError } from '@toolfabric/kernel';
import { type GatewayPorts, RequestUnanswered } from '@toolfabric/ports';

type Script = (request: never) => unknown;

/** The router's side of the front as far as a gateway can see it, with calls that end when the test says so. */
export class ScriptedRouter {
  readonly calls = new Map<string, { actor: Actor; view: CallView }>();
  readonly asked: { verb: string; body: string }[] = [];
  readonly events: FabricEvent[] = [];
  /** Answers of verbs that are not about calls. */
  readonly scripts: Partial<Record<RpcVerb, Script>> = {};
  /** The next so many requests are not answered. */
  away = 0;
  /** The next so many are handled, but the answer is lost. */
  losesAnswers = 0;
  /** What the trace store answers; nobody answers without it. */
  onTrace: ((verb: string, body: string) => string) | undefined;
  /** Where notices go beside the listeners of `ports`. */
  onSettle: (notice: SettledNotice) => void = () => {};
  readonly #settled = new Set<(notice: SettledNotice) => void>();
  readonly #progress = new Set<{ callId: string; listener: (notice: ProgressNotice) => void }>();

  /** Replies as the real one does; never throws. */
  handle(verb: string, body: string): string {
    this.asked.push({ verb, body });
    try {
      const schema = RPC[verb as RpcVerb].request;
      return JSON.stringify({ ok: this.#answer(verb as RpcVerb, schema.parse(JSON.parse(body)) as never) });
    } catch (thrown) {
      return JSON.stringify({ error: toFabricError(thrown).toToolError() });
    }
  }

  /** Ends a call; `silently` loses the notice. */
  settle(callId: string, state: VisibleState = 'ok', silently = false): CallView {
    const known = this.#known(callId);
    const { reconciling: _, ...rest } = known.view;
    const view = { ...rest, state, settledAt: Date.now(), result: resultOf(known.view, state) };
    this.calls.set(callId, { ...known, view });
    if (!silently) this.notify({ actor: known.actor, view });
    return view;
  }

  /** Ends a call as unknown while its outcome is still being found out. */
  loseReceipt(callId: string): void {
    const { actor } = this.#known(callId);
    const view = { ...this.settle(callId, 'unknown', true), reconciling: true };
    this.calls.set(callId, { actor, view });
    this.notify({ actor, view });
  }

  move(callId: string, state: VisibleState): void {
    const known = this.#known(callId);
    this.calls.set(callId, { ...known, view: { ...known.view, state } });
  }

  notify(notice: SettledNotice): void {
    for (const listener of this.#settled) listener(notice);
    this.onSettle(notice);
  }

  /** Forgets calls and requests, not listeners. */
  reset(): void {
    this.calls.clear();
    this.asked.length = 0;
  }

  progress(notice: ProgressNotice): void {
    for (const watcher of this.#progress) if (watcher.callId === notice.callId) watcher.listener(notice);
  }

  get watchers(): number {
    return this.#progress.size;
  }

  count(verb: string): number {
    return this.asked.filter((request) => request.verb === verb).length;
  }

  ports(): GatewayPorts {
    return {
      request: async (verb, body) => {
        await new Promise(setImmediate);
        if (this.away > 0) {
          this.away -= 1;
          throw new RequestUnanswered('no router');
        }
        const reply = this.handle(verb, body);
        if (this.losesAnswers > 0) {
          this.losesAnswers -= 1;
          throw new RequestUnanswered('answer lost');
        }
        return reply;
      },
      askEgress: () => Promise.reject(new Error('there is no egress')),
      askTrace: async (verb, body) => {
        this.asked.push({ verb, body });
        if (this.onTrace === undefined) throw new RequestUnanswered('no trace store');
        return this.onTrace(verb, body);
      },
      onSettled: (listener) => void this.#settled.add(listener),
      watchProgress: (_tenant, callId, listener) => {
        const watcher = { callId, listener };
        this.#progress.add(watcher);
        return () => void this.#progress.delete(watcher);
      },
      events: {
        emit: (event) => void this.events.push(event),
        store: async (event) => void this.events.push(event),
      },
    };
  }

  #known(callId: string) {
    const known = this.calls.get(callId);
    if (known === undefined) throw new Error(`no call ${callId}`);
    return known;
  }

  #answer(verb: RpcVerb, request: never): unknown {
    const script = this.scripts[verb];
    if (script !== undefined) return script(request);
    if (verb === 'call') return this.#accept(request);
    if (verb === 'getCall') return this.#own(request).view;
    if (verb === 'cancelCall') return this.settle(this.#own(request).view.callId, 'cancelled');
    throw new FabricError('internal', `no script for ${verb}`);
  }

  #accept({ actor, requestKey, taskId, tool }: { actor: Actor; requestKey: string; taskId: string; tool: string }) {
    const callId = callIdFor(actor, requestKey, Date.now());
    const known = this.calls.get(callId);
    if (known !== undefined) return known.view;
    const view: CallView = {
      callId,
      taskId,
      state: 'queued',
      tool: { name: tool, version: '1.0.0' },
      createdAt: Date.now(),
    };
    this.calls.set(callId, { actor, view });
    return view;
  }

  /** RS-4: a call of somebody else does not exist. */
  #own({ actor, callId }: { actor: Actor; callId: string }) {
    const known = this.calls.get(callId);
    if (known === undefined || JSON.stringify(known.actor) !== JSON.stringify(actor)) {
      throw new FabricError('not_found', 'there is no such call');
    }
    return known;
  }
}

const resultOf = ({ callId, tool }: CallView, state: VisibleState): ToolResult => ({
  status: state === 'ok' || state === 'unknown' || state === 'denied' ? state : 'error',
  summary: `ended ${state}`,
  sideEffect: state === 'unknown' ? 'possible' : 'none',
  trust: 'untrusted',
  callId,
  tool,
  attempt: 1,
  ...(state === 'ok' ? { data: { z: 1, a: [1.5, 'é'] } } : {}),
});
