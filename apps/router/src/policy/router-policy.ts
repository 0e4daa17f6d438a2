import type { PolicyAnswer, PolicyEngine, PolicyQuestion } from '@toolfabric/ports';

/** The answer of policies that are only tried. */
export interface ShadowAnswer {
  readonly version: string;
  readonly answer: PolicyAnswer;
}

/** The engine that decides, and what a router asks it beside decisions. */
export interface RouterPolicy extends PolicyEngine {
  /** What the policies that are only tried say; never acted upon. Undefined when there are none. */
  tried(question: PolicyQuestion): ShadowAnswer | undefined;
  /** The tenant wants to see in its catalogue what it may never call. */
  showsDenied(tenant: string): boolean;
}
