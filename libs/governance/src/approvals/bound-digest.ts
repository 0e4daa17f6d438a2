import type { ApprovalRecord, CallRecord } from '@toolfabric/contract';
import { digestOf } from '@toolfabric/kernel';

/** What a yes is bound to beside the fields that an approval names itself (design §8). */
type Bound = Pick<
  CallRecord,
  | 'actor'
  | 'taskId'
  | 'handler'
  | 'kind'
  | 'effect'
  | 'claim'
  | 'rerunnable'
  | 'workspace'
  | 'testCommand'
  | 'operation'
  | 'analysis'
> & { readonly decision: CallRecord['decision'] };

type Shown = Pick<ApprovalRecord, 'preview' | 'account' | 'resource' | 'files' | 'rule' | 'risk' | 'strength'>;

/** SHA-256 over workspace, working directory, executor, limits and everything that a person was shown. */
export const boundDigest = (call: Bound, shown: Shown): string => {
  const { actor, taskId, handler, kind, effect, claim, rerunnable, decision } = call;
  const { workspace, testCommand, operation, analysis } = call;
  const { preview, account, resource, files, rule, risk, strength } = shown;
  const ran = { actor, taskId, handler, kind, effect, claim, rerunnable, limits: decision.limits };
  const optional = {
    workspace,
    testCommand,
    operation,
    analysis,
    preview,
    account,
    resource,
    files,
    rule,
    risk,
    strength,
  };
  return digestOf({
    ...ran,
    ...Object.fromEntries(Object.entries(optional).filter(([, value]) => value !== undefined)),
  });
};
