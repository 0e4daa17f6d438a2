import { z } from 'zod';

/** How much of a yes an action needs: a confirmation by one person, or a second person or fresh authentication. */
export const ApprovalStrength = z.enum(['confirm', 'strong']);
export type ApprovalStrength = z.infer<typeof ApprovalStrength>;

const line = (most: number) =>
  z
    .string()
    .min(1)
    .max(most)
    .regex(/^[^\p{Cc}\p{Zl}\p{Zp}]*$/u, 'no control characters');

/** Given when a task is made; each only tightens what policy and contract allow. */
export const TaskConstraints = z.strictObject({
  /** Globs relative to the workspace root: nothing else may be written. Everything when left out. */
  writable: z.array(line(500)).max(50).optional(),
  /** Host names, or `*.` and a suffix: never reached. */
  forbiddenHosts: z.array(line(253)).max(200).optional(),
  /** Names of tools or intents that a person must confirm each time. */
  confirm: z.array(line(80)).max(50).optional(),
});
export type TaskConstraints = z.infer<typeof TaskConstraints>;

/** What a task may use at most; what is left out is not bounded here. */
export const TaskBudget = z.strictObject({
  /** Turns: model rounds. */
  rounds: z.int().min(1).max(10_000).optional(),
  callsPerTurn: z.int().min(1).max(1_000).optional(),
  callsPerToolPerTurn: z.int().min(1).max(1_000).optional(),
  /** Milliseconds from the making of the task. */
  wallMs: z
    .int()
    .min(1_000)
    .max(30 * 86_400_000)
    .optional(),
  /** Units; a call takes the cost of its contract, 1 when it names none. */
  spend: z.int().min(1).max(1_000_000_000).optional(),
});
export type TaskBudget = z.infer<typeof TaskBudget>;

/** `serial`: a task has one call under way at most. */
export const TaskMode = z.enum(['parallel', 'serial']);
export type TaskMode = z.infer<typeof TaskMode>;

/** Something from outside that was read, and may have spoken to the model since. */
export const TaintMark = z.strictObject({
  /** Where it came from, for example `workspace:t-…` or `https://example.com`. */
  origin: z.string().max(500),
  callId: z.string(),
  /** Milliseconds since the epoch. */
  at: z.int(),
  /** It may hold what is not everybody's. */
  private: z.boolean().optional(),
});
export type TaintMark = z.infer<typeof TaintMark>;

/** A file of the workspace that the action will run or send, as it was when a person was asked. */
export const BoundFile = z.strictObject({ path: z.string().max(4096), sha256: z.string() });
export type BoundFile = z.infer<typeof BoundFile>;
