import type {
  Actor,
  ApprovalStrength,
  CallLimits,
  DecisionSummary,
  RegistryRecord,
  RiskGroup,
  TaintMark,
  TaskRecord,
} from '@toolfabric/contract';

/** What is known of one proposal beside its arguments: read out of them by the contract, the task and the router. */
export interface CallFacts {
  /** Host names that the call may reach: lower case, without port. */
  readonly hosts: readonly string[];
  /** Paths of the workspace that the arguments name, relative to its root. */
  readonly paths: readonly string[];
  /** Those among them that the call may write. */
  readonly writes: readonly string[];
  /** Names of the programs that the call starts, as far as they are known before; `bash` for a text that it reads. */
  readonly programs?: readonly string[];
  /** What is acted on, the whole before its part: `github:repo:shop/checkout#4821`. */
  readonly resource?: string;
  /** Whose account acts outside. */
  readonly account?: string;
  readonly credential: 'none' | 'user' | 'tenant' | 'shared';
  readonly environment: 'development' | 'production';
  readonly taint: readonly TaintMark[];
  /** That of the contract, or what a rule has raised it to; never less than that of the contract. */
  readonly risk: RiskGroup;
  /** Names of the rules that raised it. */
  readonly raisedBy: readonly string[];
  /** The task wants a person to confirm this each time. */
  readonly confirm?: boolean;
  /** The least of what its request and its task say of one call. */
  readonly requestLimits?: CallLimits;
  /** Rights of the credential that asks. */
  readonly roles: readonly string[];
}

export interface PolicyQuestion {
  readonly actor: Actor;
  readonly task: TaskRecord;
  readonly tool: RegistryRecord;
  readonly args: Readonly<Record<string, unknown>>;
  readonly facts: CallFacts;
  /** A yes that was really given; filled in by the router, never by the caller. */
  readonly approval?: ApprovalStrength;
}

export type PolicyAnswer =
  | { readonly verdict: 'allow'; readonly decision: DecisionSummary }
  /** `decision.strength` says how much of a yes is needed. */
  | { readonly verdict: 'needs_approval'; readonly decision: DecisionSummary; readonly reason: string }
  | { readonly verdict: 'deny'; readonly policyVersion: string; readonly rule: string; readonly reason: string };

/** How an answer came about: each question that was put to the engine, with the rules that spoke. */
export interface PolicyExplanation {
  readonly answer: PolicyAnswer;
  readonly steps: readonly {
    /** The yes that was supposed. */
    readonly approval: 'none' | ApprovalStrength;
    readonly allowed: boolean;
    /** Stable names of the rules that decided it. */
    readonly rules: readonly string[];
  }[];
}

/** One decision a call. Synchronous and pure: an engine that cannot decide denies, with the rule `engine_error`. */
export interface PolicyEngine {
  /** The watermark: other rules have another version. */
  readonly version: string;
  decide(question: PolicyQuestion): PolicyAnswer;
  explain(question: PolicyQuestion): PolicyExplanation;
  /** Whether some arguments of this tool could be allowed or approved for this actor. */
  couldAllow(actor: Actor, tool: RegistryRecord): boolean;
}
