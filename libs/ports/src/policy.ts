import type { Actor, DecisionSummary, RegistryRecord, TaskRecord } from '@toolfabric/contract';

export interface PolicyQuestion {
  readonly actor: Actor;
  readonly task: TaskRecord;
  readonly tool: RegistryRecord;
  readonly args: Readonly<Record<string, unknown>>;
}

export type PolicyAnswer =
  | { readonly verdict: 'allow'; readonly decision: DecisionSummary }
  | { readonly verdict: 'needs_approval'; readonly decision: DecisionSummary; readonly reason: string }
  | { readonly verdict: 'deny'; readonly policyVersion: string; readonly rule: string; readonly reason: string };

/** One decision a call. Synchronous and pure: an engine that cannot decide denies. */
export interface PolicyEngine {
  readonly version: string;
  decide(question: PolicyQuestion): PolicyAnswer;
  /** Whether some arguments of this tool could be allowed or approved for this actor. */
  couldAllow(actor: Actor, tool: RegistryRecord): boolean;
}
