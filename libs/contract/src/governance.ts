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

/** What one call may take at most; what is left out is not bounded here. It only tightens. */
export const CallLimits = z.strictObject({
  /** Milliseconds of one execution. */
  timeoutMs: z.int().min(10).max(86_400_000).optional(),
  /** Bytes of data and content together. */
  outputBytes: z.int().min(256).max(49_152).optional(),
  /** Estimated tokens of data and content together. */
  outputTokens: z.int().min(64).max(1_000_000).optional(),
});
export type CallLimits = z.infer<typeof CallLimits>;

/** Given when a task is made; each only tightens what policy and contract allow. */
export const TaskConstraints = z.strictObject({
  /** Globs relative to the workspace root: nothing else may be written. Everything when left out. */
  writable: z.array(line(500)).max(50).optional(),
  /** Host names, or `*.` and a suffix: never reached. */
  forbiddenHosts: z.array(line(253)).max(200).optional(),
  /** Names of tools or intents that a person must confirm each time. */
  confirm: z.array(line(80)).max(50).optional(),
  /** Of each of its calls. */
  limits: CallLimits.optional(),
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

/** Turns of a task that calls may still be made in; when one more begins, the oldest is over. */
export const MOST_OPEN_TURNS = 4;
/** Calls whose ids a budget remembers; of older ones only the count. */
export const MOST_TAKEN_IDS = 128;

/** What the calls of a task have taken out of its budget; only ever more. */
export const TaskUse = z.strictObject({
  taskId: z.string(),
  /** Turns that have begun. */
  rounds: z.int(),
  /** Units. */
  spent: z.int(),
  /** The last turn that is over; -1 for none. */
  closed: z.int(),
  /** -1 stands for calls without a turn. */
  open: z
    .array(z.strictObject({ turn: z.int(), calls: z.int(), tools: z.record(z.string(), z.int()) }))
    .max(MOST_OPEN_TURNS + 1),
  /** With the time that its request key names. */
  taken: z.array(z.strictObject({ callId: z.string(), keyTime: z.int() })).max(MOST_TAKEN_IDS),
  /** The latest of the times of the ids that were forgotten. */
  forgotten: z.int().optional(),
  /** In serial mode: the call under way, and when it took the place. */
  serial: z.strictObject({ callId: z.string(), at: z.int() }).optional(),
});
export type TaskUse = z.infer<typeof TaskUse>;

export const MOST_TAINT_MARKS = 64;

/** Everything from outside that one agent has read for one user, with the task; without one it counts for all. */
export const TaintRecord = z.strictObject({
  marks: z.array(z.strictObject({ ...TaintMark.shape, taskId: z.string().optional() })).max(MOST_TAINT_MARKS),
});
export type TaintRecord = z.infer<typeof TaintRecord>;

export const MOST_WAITING_WRITES = 256;

/** Who writes one resource outside, and who is next, in the order of acceptance. */
export const ResourceLease = z.strictObject({
  /** A call of the tenant that the key names. */
  holder: z.string().optional(),
  waiting: z.array(z.strictObject({ callId: z.string(), acceptedAt: z.int() })).max(MOST_WAITING_WRITES),
});
export type ResourceLease = z.infer<typeof ResourceLease>;
