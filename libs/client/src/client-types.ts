import type {
  CallView,
  ModelTool,
  RpcReply,
  TaskOutcome,
  TaskRecord,
  ToolSummary,
  WorkspaceSource,
} from '@toolfabric/contract';
import type { Json } from '@toolfabric/kernel';
import type { Progress } from '@toolfabric/proto';

export interface ConnectOptions {
  /** `host:port` of a gateway. */
  readonly address: string;
  readonly token: string;
  /** Without it the connection is plain, which is refused beyond loopback unless `insecure` is set. */
  readonly tls?: TlsOptions;
  readonly insecure?: boolean;
}

/** PEM texts. Left out: the certificate authorities of the system, and no certificate of one's own. */
export interface TlsOptions {
  readonly ca?: string;
  readonly cert?: string;
  readonly key?: string;
}

export interface RequestOptions {
  /** Ends the waiting; the promise rejects with `signal.reason`. It does not cancel the call in the fabric. */
  readonly signal?: AbortSignal;
  /** Milliseconds for the whole request, retries included. */
  readonly timeoutMs?: number;
}

export interface CallOptions extends RequestOptions {
  /** Milliseconds to wait for the end of the call; then the answer is a handle. 30 s when left out. */
  readonly waitMs?: number;
}

export interface NewTask {
  readonly title?: string;
  readonly workspace?: WorkspaceSource;
  /** A UUIDv7; made here when left out. The same key gives the same task. */
  readonly requestKey?: string;
}

export interface Proposal {
  readonly taskId: string;
  /** `name` or `name@version`. */
  readonly tool: string;
  /** An object, or JSON text exactly as a model wrote it. */
  readonly args: Readonly<Record<string, Json>> | string;
  /** A UUIDv7; made here when left out. Keep it to retry the same action later. */
  readonly requestKey?: string;
  readonly operationKey?: string;
  /** Milliseconds from now in which the effect must begin. */
  readonly deadlineMs?: number;
  readonly priority?: 'hi' | 'lo';
  readonly turn?: number;
  readonly modelCallId?: string;
  /** W3C trace context. */
  readonly traceparent?: string;
}

/** What a watch tells: the call as it is after a change, or a line from the tool. */
export type CallNews =
  | { readonly type: 'call'; readonly call: CallView }
  | { readonly type: 'progress'; readonly progress: Progress };

/**
 * The verbs of the fabric. They reject with a `FabricError` whose type is a row of the error table, or with the reason
 * of the caller's own signal. `unavailable` is retried with the same request key within the timeout. A tool that fails,
 * or a call that is refused, is an answer and does not reject.
 */
export interface FabricClient {
  createTask(task: NewTask, options?: RequestOptions): Promise<TaskRecord>;
  getTask(taskId: string, options?: RequestOptions): Promise<TaskRecord>;
  endTask(taskId: string, outcome: (typeof TaskOutcome.options)[number], options?: RequestOptions): Promise<TaskRecord>;
  listTools(which?: { readonly allStates?: boolean }, options?: RequestOptions): Promise<RpcReply<'listTools'>>;
  describeTool(tool: string, options?: RequestOptions): Promise<{ summary: ToolSummary; model: ModelTool }>;
  call(proposal: Proposal, options?: CallOptions): Promise<CallView>;
  startCall(proposal: Proposal, options?: RequestOptions): Promise<CallView>;
  /** Ends after an answered state; reconnects when the gateway goes away. */
  watchCall(callId: string, options?: RequestOptions): AsyncGenerator<CallNews, void, void>;
  cancelCall(callId: string, options?: RequestOptions): Promise<CallView>;
  getCall(callId: string, options?: RequestOptions): Promise<CallView>;
  putDraft(contract: Json, options?: RequestOptions): Promise<ToolSummary>;
  publish(name: string, version: string, options?: RequestOptions): Promise<ToolSummary>;
  deprecate(name: string, version: string, options?: RequestOptions): Promise<ToolSummary>;
  retire(name: string, version: string, options?: RequestOptions): Promise<ToolSummary>;
  close(): void;
}
