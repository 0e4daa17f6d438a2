import type { Outcome } from '@toolfabric/contract';
import { FabricError } from '@toolfabric/kernel';

export interface PushArgs {
  readonly remote: string;
  readonly branch: string;
  readonly commit: string;
  readonly expected?: string | undefined;
}

/** What `expected` and an intent say of a branch that is not there. */
export const ABSENT = 'absent';

/** @param at the repository as it is told to whoever called. */
export const receiptOf = (args: PushArgs, at: string, before: string | undefined): Outcome => ({
  status: 'ok',
  summary: `${args.branch} of ${at} stands at ${args.commit.slice(0, 12)}.`,
  data: { remote: at, branch: args.branch, commit: args.commit, before: before ?? null },
  sideEffect: 'confirmed',
  trust: 'trusted',
  evidence: [{ kind: 'remote-ref', ref: `${at}#refs/heads/${args.branch}`, detail: args.commit }],
});

/** Throws `stale_version` when the branch over there stands elsewhere than the call expects. */
export const checkBefore = ({ expected }: PushArgs, before: string | undefined): void => {
  if (expected === undefined || expected === (before ?? ABSENT)) return;
  throw new FabricError(
    'stale_version',
    `the branch of the remote stands at ${before ?? ABSENT} by now; nothing was pushed`,
  );
};
