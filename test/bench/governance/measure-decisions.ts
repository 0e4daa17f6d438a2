import { createCedarPolicy } from '@toolfabric/policy-cedar';
import { spreadOf } from '../call-path/statistics.ts';
import { aboutMany, aboutOne } from './policies.ts';
import { questionFor, READ_TOOL, sourceOf } from './question.ts';

export interface DecisionRow {
  readonly policies: number;
  /** Whether the engine is given all of them, or those of the tool alone. */
  readonly kind: 'over a hundred tools' | 'all about the tool';
  /** Microseconds. */
  readonly p50: number;
  readonly p99: number;
}

const ACTOR = { tenant: 'acme', user: 'ann', agent: 'coder' };
const COUNTS = [10, 100, 1_000] as const;

const measureOne = (kind: DecisionRow['kind'], policies: number, decisions: number): DecisionRow => {
  const text = kind === 'all about the tool' ? aboutOne(policies, READ_TOOL) : aboutMany(policies, READ_TOOL);
  const policy = createCedarPolicy({ source: sourceOf({ [ACTOR.tenant]: text }) });
  // The rules read the user: each question is a new one, which nothing can be remembered of.
  const question = (n: number) => questionFor(READ_TOOL, { ...ACTOR, user: `user of question ${n}` });
  const questions = Array.from({ length: decisions }, (_, n) => question(n));
  if (policy.decide(question(-1)).verdict !== 'allow') throw new Error('the policy of the benchmark does not allow it');
  const samples = questions.map((question) => {
    const began = performance.now();
    policy.decide(question);
    return (performance.now() - began) * 1_000;
  });
  const { p50, p99 } = spreadOf(samples.slice(decisions / 10));
  return { policies, kind, p50, p99 };
};

/** One decision in one process, as the router makes it. */
export const measureDecisions = (decisions: number): DecisionRow[] =>
  (['over a hundred tools', 'all about the tool'] as const).flatMap((kind) =>
    COUNTS.map((policies) => measureOne(kind, policies, decisions)),
  );
