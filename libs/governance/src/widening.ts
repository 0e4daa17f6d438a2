import type { Approver, TaskRecord, TaskWidening } from '@toolfabric/contract';
import { isSamePerson } from './approvals/may-decide.ts';
import { checkConstraintsThemselves } from './constraints/check-constraints.ts';
import { hostOf } from './extract-hosts.ts';

/** The right to let a task do more than it was made for (PO-7). */
const WIDEN = 'tasks:widen';

/** What keeps this person from widening it; nothing for who may. Whoever the task works for cannot, by whichever agent. */
export const objectionToWiden = (approver: Approver, { actor }: TaskRecord): string | undefined => {
  if (!approver.rights.includes(WIDEN)) return `this needs a token with the right ${WIDEN}`;
  return isSamePerson(approver.user, actor.user) ? 'whoever a task works for cannot widen it' : undefined;
};

/** The task with what was added to its constraints since; what decides about a call looks at this one. */
export const asWidened = (task: TaskRecord): TaskRecord => {
  const added = task.widened?.flatMap(({ writable = [] }) => writable) ?? [];
  const { writable, ...others } = task.constraints ?? {};
  if (added.length === 0 || writable === undefined) return task;
  return { ...task, constraints: { ...others, writable: [...new Set([...writable, ...added])] } };
};

/** Whether a person has permitted the host to this task by name. What the task forbids stays forbidden. */
export const isPermittedHost = ({ widened }: Pick<TaskRecord, 'widened'>, host: string): boolean =>
  (widened ?? []).some(({ hosts = [] }) =>
    hosts.some((pattern) => {
      const isWide = pattern.startsWith('*.');
      const named = hostOf(isWide ? pattern.slice(2) : pattern);
      return named !== undefined && (isWide ? host.endsWith(`.${named}`) : host === named);
    }),
  );

const isKnown = (known: readonly string[], given: readonly string[] = []): boolean =>
  given.every((one) => known.includes(one));

/**
 * The record with one widening more; the same record where nothing is new, so that a repeated request changes nothing.
 * Throws `invalid_request` for globs and hosts that cannot be read. Pure.
 */
export const widenTask = (task: TaskRecord, widening: TaskWidening): TaskRecord => {
  const { writable, hosts } = widening;
  checkConstraintsThemselves({ ...(writable && { writable }), ...(hosts && { forbiddenHosts: hosts }) });
  const before = task.widened ?? [];
  const isNothing =
    isKnown([...(task.constraints?.writable ?? []), ...before.flatMap((one) => one.writable ?? [])], writable) &&
    isKnown(
      before.flatMap((one) => one.hosts ?? []),
      hosts,
    );
  return isNothing ? task : { ...task, widened: [...before, widening] };
};
