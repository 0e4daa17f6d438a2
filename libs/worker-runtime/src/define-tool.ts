import type {
  Actor,
  BoundFile,
  DecisionSummary,
  DeclaredCommand,
  Effect,
  Outcome,
  WorkspaceRef,
} from '@toolfabric/contract';
import type { Clock, Faults, Json } from '@toolfabric/kernel';
import type { ArtifactSession, EgressSession } from '@toolfabric/ports';
import type { z } from 'zod';
import type { Redactor } from './redactor.ts';

/** What a tool is given beside its arguments. */
export interface ToolContext {
  readonly callId: string;
  readonly epoch: number;
  /** The same in every attempt of this action, and of no other: for another side that knows repeated requests. */
  readonly operationKey: string;
  readonly actor: Actor;
  readonly taskId: string;
  /** `execution.options` of the contract. */
  readonly options: Readonly<Record<string, Json>>;
  /** Aborted at a cancel, at the deadline, when the claim is lost and when the worker must stop. */
  readonly signal: AbortSignal;
  readonly clock: Clock;
  readonly limits: DecisionSummary['limits'];
  /** Estimated tokens of data and content together, where the contract bounds them. */
  readonly outputTokens: number | undefined;
  readonly workspace: WorkspaceRef | undefined;
  /** Runs apart from the wait of its caller, who may read its log while it grows. */
  readonly background: boolean;
  /** What the task declared when it was made; only for the tool that runs it. */
  readonly testCommand: DeclaredCommand | undefined;
  /** Globs of the task: nothing else of the workspace may be written. Everything when left out. */
  readonly writable?: readonly string[] | undefined;
  /** The yes of a person that this call took; none where none was needed. */
  readonly approval?: string | undefined;
  /** Files of the workspace that the yes is bound to: where one of them is another by now, nothing may be begun. */
  readonly boundFiles?: readonly BoundFile[] | undefined;
  /** Digest of what the router understood of a shell text among the arguments. */
  readonly analysis?: string | undefined;
  /** The artifact store with the leave of this call; none where the call has no leave, or the worker no store. */
  readonly artifacts: ArtifactSession | undefined;
  /** The way out with the leave of this call; none where the call has no leave. It is closed when the tool ends. */
  readonly egress: EgressSession | undefined;
  /** Rules of the contract and patterns of this tenant. Whatever is stored or said goes through it. */
  readonly redactor: Redactor;
  readonly faults: Faults;
  /** A line for whoever watches; lossy. */
  progress(message: string, fraction?: number): void;
  /**
   * Must resolve before the first byte of an effect: stores `started` with what is about to be done (protocol 5).
   * Rejects when the claim was lost or cancelled: then nothing may be written.
   */
  beginEffect(intent: Json): Promise<void>;
}

/** What a probe found out about an earlier execution that ended without a receipt. */
export type ProbeAnswer =
  | { readonly answer: 'found'; readonly receipt: Outcome }
  /** `fence`: the earlier execution can provably not write any more. */
  | { readonly answer: 'absent'; readonly fence: boolean }
  | { readonly answer: 'not_visible'; readonly reason: string };

/** A tool is a value; a worker's tools are a flat list. Both functions may throw a `FabricError`; anything else thrown becomes `tool_failed`. */
export interface ToolDefinition<Args = never> {
  /** Equal to `execution.handler` of the contract. */
  readonly handler: string;
  readonly effect: Effect;
  /** The arguments as the handler wants them; the router has checked them against the contract before. */
  readonly args: z.ZodType<Args>;
  handle(ctx: ToolContext, args: Args): Promise<Outcome>;
  /** Read-only. `intent` is what the earlier execution gave to `beginEffect`. */
  probe?(ctx: ToolContext, args: Args, intent: Json | undefined): Promise<ProbeAnswer>;
}

// biome-ignore lint/suspicious/noExplicitAny: a list of tools has a different argument type in every entry; `args` guards each.
export type AnyTool = ToolDefinition<any>;

/** Fixes the argument type of one tool to its schema. */
export const defineTool = <Args>(tool: ToolDefinition<Args>): ToolDefinition<Args> => tool;
