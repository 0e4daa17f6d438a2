import { type Approver, MOST_WIDENINGS, type TaskRecord, type TaskWidening } from '@toolfabric/contract';
import { FabricError } from '@toolfabric/kernel';
import { isSamePerson } from './approvals/may-decide.ts';
import { checkConstraintsThemselves } from './constraints/check-constraints.ts';
import { hostOf } from './extract-hosts.ts';

/** The right to let a task do more than it was made for (PO-7). */
const WIDEN = 'tasks:widen';

/**
 * What a task has together at most, what it was made with included. They keep it inside what a trace reads of its calls,
 * and leave room for arguments in the message of each. `bytes` as they stand in a message.
 */
export const WIDEST = { writable: { most: 50, bytes: 8_192 }, hosts: { most: 50, bytes: 4_096 } } as const;

/** Bytes of a record that was widened: it has to grow until its task ends, and a store takes 160 KiB of it. */
export const WIDEST_RECORD = 128 * 1024;

/** What keeps this person from widening it; nothing for who may. Whoever the task works for cannot, by whichever agent. */
export const objectionToWiden = (approver: Approver, { actor }: TaskRecord): string | undefined => {
  if (!approver.rights.includes(WIDEN)) return `this needs a token with the right ${WIDEN}`;
  return isSamePerson(approver.user, actor.user) ? 'whoever a task works for cannot widen it' : undefined;
};

type Widened = Pick<TaskRecord, 'constraints' | 'widened'>;

/** The globs of the task, and those that were added since. */
const globsOf = ({ constraints, widened = [] }: Widened): string[] => [
  ...new Set([...(constraints?.writable ?? []), ...widened.flatMap(({ writable = [] }) => writable)]),
];

/** Hosts, or `*.` and a suffix, that people have permitted to this task by name. */
export const permittedHosts = ({ widened = [] }: Pick<TaskRecord, 'widened'>): string[] => [
  ...new Set(widened.flatMap(({ hosts = [] }) => hosts)),
];

/** The task with what was added to its constraints since; what decides about a call looks at this one. */
export const asWidened = (task: TaskRecord): TaskRecord => {
  if (task.constraints?.writable === undefined || task.widened === undefined) return task;
  return { ...task, constraints: { ...task.constraints, writable: globsOf(task) } };
};

/**
 * Whether a person has permitted the host to this task by name; `*.` and a suffix is what lies below the suffix, and not
 * the suffix. What the task forbids stays forbidden.
 */
export const isPermittedHost = (task: Pick<TaskRecord, 'widened'>, host: string): boolean =>
  permittedHosts(task).some((pattern) => {
    const isWide = pattern.startsWith('*.');
    const named = hostOf(isWide ? pattern.slice(2) : pattern);
    return named !== undefined && (isWide ? host.endsWith(`.${named}`) : host === named);
  });

const sentBytes = (texts: readonly string[]): number => Buffer.byteLength(JSON.stringify(JSON.stringify(texts)));

const checkBound = (field: keyof typeof WIDEST, texts: readonly string[]): void => {
  const { most, bytes } = WIDEST[field];
  if (texts.length <= most && sentBytes(texts) <= bytes) return;
  const expected = `${most} at most, and ${bytes} bytes, together with what the task has`;
  throw new FabricError('invalid_request', `${field}: ${expected}`, { fields: [{ field: `/${field}`, expected }] });
};

const newOnes = (known: readonly string[], given: readonly string[] = []): string[] =>
  [...new Set(given)].filter((one) => !known.includes(one));

/**
 * The record with one widening more, of what is new; the same record where nothing is, so that a repeated request changes
 * nothing. Throws `invalid_request` for globs and hosts that cannot be read, for one widening and for more than a task
 * may have. Pure.
 */
export const widenTask = (task: TaskRecord, { writable, hosts, ...by }: TaskWidening): TaskRecord => {
  checkConstraintsThemselves({ ...(writable && { writable }), ...(hosts && { forbiddenHosts: hosts }) });
  const globs = newOnes(globsOf(task), writable);
  const names = newOnes(permittedHosts(task), hosts);
  if (globs.length + names.length === 0) return task;
  const more = { ...by, ...(globs.length > 0 && { writable: globs }), ...(names.length > 0 && { hosts: names }) };
  const after = { ...task, widened: [...(task.widened ?? []), more] };
  if (after.widened.length > MOST_WIDENINGS)
    throw new FabricError('invalid_request', `a task is widened ${MOST_WIDENINGS} times at most`);
  if (Buffer.byteLength(JSON.stringify(after)) > WIDEST_RECORD)
    throw new FabricError('invalid_request', `the record of a task that is widened has ${WIDEST_RECORD} bytes at most`);
  checkBound('writable', globsOf(after));
  checkBound('hosts', permittedHosts(after));
  return after;
};
