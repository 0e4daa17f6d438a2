import { z } from 'zod';
import { TaskBudget, TaskConstraints, TaskMode } from './governance.ts';
import { Actor, TaskId } from './identity.ts';
import { ToolError } from './result.ts';

/** Printable text: a control character takes six bytes in a record, and forges lines on a terminal. */
export const printable = (most: number) =>
  z
    .string()
    .max(most)
    .regex(/^[^\p{Cc}\p{Zl}\p{Zp}]*$/u, 'no control characters');

const PathText = printable(4096).min(1);

/** Where a task works: an existing directory, a clone of a local repository, or an empty directory. */
export const WorkspaceSource = z.discriminatedUnion('type', [
  z.strictObject({ type: z.literal('existing'), path: PathText }),
  z.strictObject({ type: z.literal('clone'), path: PathText }),
  z.strictObject({ type: z.literal('empty') }),
]);
export type WorkspaceSource = z.infer<typeof WorkspaceSource>;

/** What a worker needs to find a workspace; travels in every work message of the task. */
export const WorkspaceRef = z.strictObject({ id: z.string(), source: WorkspaceSource });
export type WorkspaceRef = z.infer<typeof WorkspaceRef>;

/** A program with its arguments, as a task declares it when it is made. */
export const DeclaredCommand = z.strictObject({
  /** The name of an allowed program, then its arguments; no shell reads them. */
  argv: z.array(printable(4096)).min(1).max(64),
  /** Where it runs, relative to the workspace root; the root when left out. */
  cwd: printable(1024).optional(),
  /** SHA-256 over the canonical JSON of argv and cwd: what was declared is what runs. */
  sha256: z.string(),
});
export type DeclaredCommand = z.infer<typeof DeclaredCommand>;

/** The worker that holds a workspace at the moment: its pool and its pin slot. */
export const WorkspaceHome = z.strictObject({ kind: z.string(), slot: z.string(), incarnation: z.string() });
export type WorkspaceHome = z.infer<typeof WorkspaceHome>;

/** What a person let a task do beyond what it was made for. */
export const TaskWidening = z.strictObject({
  /** Who did, and when, in milliseconds since the epoch. */
  by: z.string().max(200),
  at: z.int(),
  /** Globs that may be written too. */
  writable: z.array(printable(500).min(1)).min(1).max(20).optional(),
  /** Hosts, or `*.` and a suffix for all below it, that it may send to after it has read content from outside, private too. */
  hosts: z.array(printable(253).min(1)).min(1).max(20).optional(),
  note: printable(500).optional(),
});
export type TaskWidening = z.infer<typeof TaskWidening>;

/** Widenings of one task. */
export const MOST_WIDENINGS = 20;

export const TaskOutcome = z.enum(['succeeded', 'failed', 'abandoned']);

export const TaskRecord = z.strictObject({
  taskId: TaskId,
  actor: Actor,
  title: printable(500),
  workspace: WorkspaceRef.optional(),
  /** What `test.run` runs. */
  testCommand: DeclaredCommand.optional(),
  constraints: TaskConstraints.optional(),
  budget: TaskBudget.optional(),
  mode: TaskMode.optional(),
  widened: z.array(TaskWidening).max(MOST_WIDENINGS).optional(),
  /** Left out while the workspace lies on storage that all its workers share. */
  home: WorkspaceHome.optional(),
  state: z.enum(['preparing', 'open', 'ended']),
  outcome: TaskOutcome.optional(),
  /** Why no workspace could be made, for a task that failed before it was open. */
  failure: ToolError.optional(),
  /** Milliseconds since the epoch. */
  createdAt: z.int(),
  endedAt: z.int().optional(),
});
export type TaskRecord = z.infer<typeof TaskRecord>;
