import type { Actor, DecisionSummary, Effect, Outcome, WorkspaceRef } from '@toolfabric/contract';
import type { Clock, Faults, Json } from '@toolfabric/kernel';
import type { z } from 'zod';

/** What a tool is given beside its arguments. */
export interface ToolContext {
  readonly callId: string;
  readonly actor: Actor;
  readonly taskId: string;
  /** Aborted at a cancel, at the deadline, when the claim is lost and when the worker must stop. */
  readonly signal: AbortSignal;
  readonly clock: Clock;
  readonly limits: DecisionSummary['limits'];
  readonly workspace: WorkspaceRef | undefined;
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
