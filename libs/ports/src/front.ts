import type { ProgressNotice, RpcVerb, SettledNotice, TraceVerb } from '@toolfabric/contract';
import type { EventLog } from './bus.ts';

/** Nobody answered a request: it is not known whether it was handled. Safe to repeat, since every verb is create-or-verify. */
export class RequestUnanswered extends Error {
  override readonly name = 'RequestUnanswered';
}

/** The gateway's side of the bus. */
export interface GatewayPorts {
  /** Sends JSON text, answers JSON text. Throws `RequestUnanswered` after `timeoutMs` or when no router listens. */
  request(verb: RpcVerb, body: string, timeoutMs: number): Promise<string>;
  /** The same to the trace store, which may be absent: `RequestUnanswered` then. */
  askTrace(verb: TraceVerb, body: string, timeoutMs: number): Promise<string>;
  /** The same to the keeper of credentials, which may be absent. */
  askEgress(verb: string, body: string, timeoutMs: number): Promise<string>;
  /** Every settlement of every tenant; lossy. */
  onSettled(listener: (notice: SettledNotice) => void): void;
  /** Progress of one call, whichever kind runs it; returns the way to stop. Lossy. */
  watchProgress(tenant: string, callId: string, listener: (notice: ProgressNotice) => void): () => void;
  readonly events: EventLog;
}

/** The trace store's front on the bus. */
export interface TraceFront {
  /** Answers questions until the bus closes or the returned function is called; the handler never throws. */
  serve(handler: (verb: string, body: string) => Promise<string>): () => void;
}

/** The router's front on the bus. */
export interface RouterFront {
  /** Answers requests until the bus closes or the returned function is called; the handler never throws. */
  serve(handler: (verb: string, body: string) => Promise<string>): () => void;
  settled(notice: SettledNotice): void;
}
