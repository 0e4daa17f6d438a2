import type {
  ApprovalView,
  ArtifactRecord,
  BatchOutcome,
  CallLimits,
  CallView,
  CredentialDraft,
  CredentialRecord,
  DeclaredCommand,
  EgressReplyOf,
  ModelTool,
  PayloadRecord,
  Resolution,
  ResolutionEvidence,
  RiskGroup,
  RpcReply,
  SecretParts,
  Share,
  SpanRecord,
  TaskBudget,
  TaskConstraints,
  TaskMode,
  TaskOutcome,
  TaskRecord,
  TaskWidening,
  ToolSummary,
  TraceCall,
  TraceDecision,
  TraceEvent,
  UnknownCall,
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
  /** What `test.run` will run; it cannot be changed later. */
  readonly testCommand?: Omit<DeclaredCommand, 'sha256'>;
  /** Paths, hosts and actions that the task keeps to; it cannot be changed later. */
  readonly constraints?: TaskConstraints;
  /** What the task may use at most; it cannot be changed later. */
  readonly budget?: TaskBudget;
  /** `parallel` when left out. */
  readonly mode?: TaskMode;
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
  /** What it may take at most: only tightens what contract, policy and task say. */
  readonly limits?: CallLimits;
  readonly priority?: 'hi' | 'lo';
  readonly turn?: number;
  readonly modelCallId?: string;
  /** The model that proposes it, with its version. */
  readonly model?: string;
  /** Digest of the catalogue that the model saw, as `listTools` gives it. */
  readonly catalogueDigest?: string;
  /** The failed call that this one is a better try of. */
  readonly repairs?: string;
  /** Run it apart from the wait of its caller, for tools that allow it. */
  readonly background?: boolean;
  /** W3C trace context. */
  readonly traceparent?: string;
}

/** What a watch tells: the call as it is after a change, or a line from the tool. */
export type CallNews =
  | { readonly type: 'call'; readonly call: CallView }
  | { readonly type: 'progress'; readonly progress: Progress };

/** A piece of the log of a call, as bytes: a character may be cut at its border only where the log itself ends so. */
export interface LogPiece {
  readonly data: Uint8Array;
  /** Where the next read goes on, in the log of `attempt`: both are given together. */
  readonly cursor: number;
  /** The attempt of the call whose log this is. Each has a log of its own. */
  readonly attempt?: number;
  /** How often the log began anew since the read began: from then on it is that of a later attempt, from its beginning. */
  readonly restarts: number;
  /** Bytes that were not kept, so far, and where in the log they are missing. */
  readonly dropped: number;
  readonly gapAt?: number;
  readonly complete: boolean;
}

export interface LogOptions extends RequestOptions {
  /** Bytes that were read before, of the log of `attempt`. */
  readonly cursor?: number;
  /** As it came with the cursor. When the call is in a later attempt, its log is told from its beginning. */
  readonly attempt?: number;
  /** Waits for more until the call has ended; reconnects when the gateway goes away. */
  readonly follow?: boolean;
  readonly maxBytes?: number;
}

export interface ArtifactFilter {
  readonly taskId?: string;
  readonly callId?: string;
  readonly after?: string;
  readonly limit?: number;
}

/** Milliseconds since the epoch, and what the rows must be equal to. */
export interface CallFilter {
  readonly taskId?: string;
  readonly tool?: string;
  readonly state?: string;
  readonly errorType?: string;
  readonly truncated?: boolean;
  readonly since?: number;
  readonly until?: number;
  readonly after?: string;
  readonly limit?: number;
}

export interface ApprovalFilter {
  /** Also what was answered lately. */
  readonly decided?: boolean;
  readonly after?: string;
  readonly limit?: number;
}

export interface ApprovalEdit {
  /** The new arguments, whole. */
  readonly args: Readonly<Record<string, Json>>;
  /** A UUIDv7; made here when left out. Keep it to retry the same edit later. */
  readonly requestKey?: string;
  readonly reason?: string;
}

export interface EditedApproval {
  /** Of the new call; the old one where the new call needs none. */
  readonly approval: ApprovalView;
  readonly replaced: ApprovalView;
  readonly call: CallView;
}

export interface ApprovalBatch {
  readonly callIds: readonly string[];
  readonly scope: string;
  readonly risk: RiskGroup;
  /** Milliseconds since the epoch: what was not used by then has expired. */
  readonly until: number;
  readonly reason?: string;
}

export interface Trace {
  /** Left out until the call has ended. */
  readonly call?: TraceCall;
  readonly events: readonly TraceEvent[];
  readonly spans: readonly SpanRecord[];
  readonly payloads: readonly PayloadRecord[];
  /** More events or spans than an answer holds. */
  readonly cut: boolean;
}

export interface UnknownResolution {
  readonly resolution: Resolution;
  /** Needed for `happened`: what is there. */
  readonly evidence?: ResolutionEvidence;
  readonly note?: string;
}

/** A credential as its owner gives it. */
export interface NewCredential extends Omit<CredentialDraft, 'sealed'> {
  /** Sealed here to the key of the vault before it is sent; left out where a login brings it. */
  readonly secret?: SecretParts;
}

export interface ArtifactRange extends RequestOptions {
  readonly from?: number;
  /** The byte after the last one. */
  readonly to?: number;
}

/**
 * The verbs of the fabric. They reject with a `FabricError` whose type is a row of the error table, or with the reason
 * of the caller's own signal. `unavailable` is retried with the same request key within the timeout. A tool that fails,
 * or a call that is refused, is an answer and does not reject.
 */
export interface FabricClient {
  createTask(task: NewTask, options?: RequestOptions): Promise<TaskRecord>;
  getTask(taskId: string, options?: RequestOptions): Promise<TaskRecord>;
  /** Lets a running task do more; needs the right `tasks:widen`, and another person than the one it works for. */
  widenTask(
    taskId: string,
    more: Pick<TaskWidening, 'writable' | 'hosts' | 'note'>,
    options?: RequestOptions,
  ): Promise<TaskRecord>;
  endTask(taskId: string, outcome: (typeof TaskOutcome.options)[number], options?: RequestOptions): Promise<TaskRecord>;
  listTools(which?: { readonly allStates?: boolean }, options?: RequestOptions): Promise<RpcReply<'listTools'>>;
  describeTool(tool: string, options?: RequestOptions): Promise<{ summary: ToolSummary; model: ModelTool }>;
  call(proposal: Proposal, options?: CallOptions): Promise<CallView>;
  startCall(proposal: Proposal, options?: RequestOptions): Promise<CallView>;
  /** Ends after an answered state; reconnects when the gateway goes away. */
  watchCall(callId: string, options?: RequestOptions): AsyncGenerator<CallNews, void, void>;
  cancelCall(callId: string, options?: RequestOptions): Promise<CallView>;
  getCall(callId: string, options?: RequestOptions): Promise<CallView>;
  listArtifacts(
    filter?: ArtifactFilter,
    options?: RequestOptions,
  ): Promise<{ artifacts: ArtifactRecord[]; next?: string }>;
  getArtifact(artifactId: string, options?: RequestOptions): Promise<ArtifactRecord>;
  /** The description, and the bytes while they come. Not reading on holds the stream back. */
  readArtifact(
    artifactId: string,
    range?: ArtifactRange,
  ): Promise<{ artifact: ArtifactRecord; data: AsyncGenerator<Uint8Array, void, void> }>;
  readCallLog(callId: string, options?: LogOptions): AsyncGenerator<LogPiece, void, void>;
  shareArtifact(artifactId: string, share: Share, options?: RequestOptions): Promise<ArtifactRecord>;
  unshareArtifact(artifactId: string, share: Share, options?: RequestOptions): Promise<ArtifactRecord>;
  pinArtifact(artifactId: string, options?: RequestOptions): Promise<ArtifactRecord>;
  unpinArtifact(artifactId: string, options?: RequestOptions): Promise<ArtifactRecord>;
  deleteArtifact(artifactId: string, options?: RequestOptions): Promise<void>;
  listCalls(filter?: CallFilter, options?: RequestOptions): Promise<{ calls: TraceCall[]; next?: string }>;
  /** What the decisions of the whole tenant were made of; needs the right `policy:replay`. */
  listDecisions(
    filter?: Pick<CallFilter, 'since' | 'until' | 'after' | 'limit'> & { readonly callId?: string },
    options?: RequestOptions,
  ): Promise<{ decisions: TraceDecision[]; next?: string }>;
  getTrace(callId: string, options?: RequestOptions): Promise<Trace>;
  /** Calls whose outcome is not known; with the right `unknown:resolve` those of the whole tenant. */
  listUnknown(
    page?: { readonly after?: string; readonly limit?: number },
    options?: RequestOptions,
  ): Promise<RpcReply<'listUnknown'>>;
  getUnknown(callId: string, options?: RequestOptions): Promise<UnknownCall>;
  /** What became of it, as a person says. The same again gives the same answer. */
  resolveUnknown(callId: string, said: UnknownResolution, options?: RequestOptions): Promise<CallView>;
  listApprovals(
    filter?: ApprovalFilter,
    options?: RequestOptions,
  ): Promise<{ approvals: ApprovalView[]; next?: string }>;
  getApproval(approvalId: string, options?: RequestOptions): Promise<ApprovalView>;
  /** A strong one stays pending after the yes of a first person. */
  grantApproval(approvalId: string, reason?: string, options?: RequestOptions): Promise<ApprovalView>;
  denyApproval(approvalId: string, reason?: string, options?: RequestOptions): Promise<ApprovalView>;
  editApproval(approvalId: string, edit: ApprovalEdit, options?: RequestOptions): Promise<EditedApproval>;
  grantBatch(batch: ApprovalBatch, options?: RequestOptions): Promise<{ batchId: string; outcomes: BatchOutcome[] }>;
  /** What waits, then every change, until the signal; reconnects when the gateway goes away. */
  watchApprovals(options?: RequestOptions): AsyncGenerator<ApprovalView, void, void>;
  /**
   * Adds a credential, or gives one that is there a new secret. Those of the tenant need the right `credentials:manage`,
   * here and in the other verbs.
   */
  addCredential(credential: NewCredential, options?: RequestOptions): Promise<CredentialRecord>;
  listCredentials(
    page?: { readonly after?: string; readonly limit?: number },
    options?: RequestOptions,
  ): Promise<EgressReplyOf<'list'>>;
  revokeCredential(handle: string, options?: RequestOptions): Promise<CredentialRecord>;
  /** Makes one request to its test address. */
  testCredential(handle: string, options?: RequestOptions): Promise<EgressReplyOf<'test'>>;
  /** Where the browser of its owner has to go, to come back to `redirectUri` with the state. */
  beginLogin(handle: string, redirectUri: string, options?: RequestOptions): Promise<EgressReplyOf<'beginLogin'>>;
  /** With the address that the browser was sent back to. */
  completeLogin(
    handle: string,
    came: { readonly state: string; readonly address: string },
    options?: RequestOptions,
  ): Promise<CredentialRecord>;
  putDraft(contract: Json, options?: RequestOptions): Promise<ToolSummary>;
  publish(name: string, version: string, options?: RequestOptions): Promise<ToolSummary>;
  deprecate(name: string, version: string, options?: RequestOptions): Promise<ToolSummary>;
  retire(name: string, version: string, options?: RequestOptions): Promise<ToolSummary>;
  close(): void;
}
