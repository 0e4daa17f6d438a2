import {
  type DeclaredCommand,
  type TaskBudget,
  type TaskConstraints,
  TaskMode,
  TaskOutcome,
  TaskRecord,
  type TaskWidening,
  type WorkspaceRef,
  type WorkspaceSource,
} from '@toolfabric/contract';
import { toolErrorFromWire, toolErrorToWire } from './convert-error.ts';
import { callLimitsFromWire, callLimitsToWire } from './convert-limits.ts';
import { enumCodec, WireMismatch } from './enum-codec.ts';
import * as wire from './gen/toolfabric/v1/task.ts';

const states = enumCodec('task state', wire.TaskState, TaskRecord.shape.state.options);
const outcomes = enumCodec('task outcome', wire.TaskOutcome, TaskOutcome.options);

const modes = enumCodec('task mode', wire.TaskMode, TaskMode.options);

export type TaskOutcomeLabel = (typeof TaskOutcome.options)[number];

export const taskOutcomeToWire = (outcome: TaskOutcomeLabel): wire.TaskOutcome =>
  outcomes.toWire(outcome) as wire.TaskOutcome;
/** Throws `WireMismatch` when it is not said or not known. */
export const taskOutcomeFromWire = (outcome: wire.TaskOutcome): TaskOutcomeLabel => outcomes.fromWire(outcome);

export const workspaceSourceToWire = (source: WorkspaceSource): wire.WorkspaceSource => ({
  source:
    source.type === 'empty' ? { $case: 'empty', value: {} } : { $case: source.type, value: { path: source.path } },
});

/** Throws `WireMismatch` for a kind of source that this side does not know. */
export const workspaceSourceFromWire = ({ source }: wire.WorkspaceSource): WorkspaceSource => {
  if (source === undefined) throw new WireMismatch('no source of a workspace that is known here');
  return source.$case === 'empty' ? { type: 'empty' } : { type: source.$case, path: source.value.path };
};

export const taskToWire = (task: TaskRecord): wire.Task => ({
  taskId: task.taskId,
  actor: { ...task.actor },
  title: task.title,
  workspace: task.workspace && { id: task.workspace.id, source: workspaceSourceToWire(task.workspace.source) },
  state: states.toWire(task.state) as wire.TaskState,
  outcome: task.outcome === undefined ? wire.TaskOutcome.UNSPECIFIED : taskOutcomeToWire(task.outcome),
  createdAtMs: task.createdAt,
  endedAtMs: task.endedAt,
  testCommand: task.testCommand && { ...task.testCommand, argv: [...task.testCommand.argv], cwd: task.testCommand.cwd },
  failure: task.failure && toolErrorToWire(task.failure),
  ...taskRulesToWire(task),
  widened: (task.widened ?? []).map(({ at, writable = [], hosts = [], ...widening }) => ({
    ...widening,
    note: widening.note,
    atMs: at,
    writable,
    hosts,
  })),
});

/** What a task keeps to, as it stands in a request and in a task. */
export interface TaskRules {
  readonly constraints?: TaskConstraints | undefined;
  readonly budget?: TaskBudget | undefined;
  readonly mode?: TaskMode | undefined;
}
interface WireRules {
  constraints: wire.TaskConstraints | undefined;
  budget: wire.TaskBudget | undefined;
  mode: wire.TaskMode;
}

export const taskRulesToWire = ({ constraints, budget, mode }: TaskRules): WireRules => ({
  constraints: constraints && {
    writable: constraints.writable && { globs: [...constraints.writable] },
    forbiddenHosts: [...(constraints.forbiddenHosts ?? [])],
    confirm: [...(constraints.confirm ?? [])],
    limits: constraints.limits && callLimitsToWire(constraints.limits),
  },
  budget: budget && {
    rounds: budget.rounds,
    callsPerTurn: budget.callsPerTurn,
    callsPerToolPerTurn: budget.callsPerToolPerTurn,
    wallMs: budget.wallMs,
    spend: budget.spend,
  },
  mode: mode === undefined ? wire.TaskMode.UNSPECIFIED : (modes.toWire(mode) as wire.TaskMode),
});

const constraintsFromWire = ({ writable, forbiddenHosts, confirm, limits }: wire.TaskConstraints): TaskConstraints => ({
  ...(writable === undefined ? {} : { writable: writable.globs }),
  ...(forbiddenHosts.length === 0 ? {} : { forbiddenHosts }),
  ...(confirm.length === 0 ? {} : { confirm }),
  ...(limits === undefined ? {} : { limits: callLimitsFromWire(limits) }),
});

const budgetFromWire = ({ rounds, callsPerTurn, callsPerToolPerTurn, wallMs, spend }: wire.TaskBudget): TaskBudget => ({
  ...(rounds === undefined ? {} : { rounds }),
  ...(callsPerTurn === undefined ? {} : { callsPerTurn }),
  ...(callsPerToolPerTurn === undefined ? {} : { callsPerToolPerTurn }),
  ...(wallMs === undefined ? {} : { wallMs }),
  ...(spend === undefined ? {} : { spend }),
});

/** Throws `WireMismatch` for a mode that this side does not know: it would be a bound that nobody keeps. */
export const taskRulesFromWire = ({
  constraints,
  budget,
  mode,
}: WireRules): Pick<TaskRecord, 'constraints' | 'budget' | 'mode'> => ({
  ...(constraints === undefined ? {} : { constraints: constraintsFromWire(constraints) }),
  ...(budget === undefined ? {} : { budget: budgetFromWire(budget) }),
  ...(mode === wire.TaskMode.UNSPECIFIED ? {} : { mode: modes.fromWire(mode) }),
});

/** What a request declares: the hash is the fabric's. */
export const testCommandFromWire = ({ argv, cwd }: wire.TestCommand): Omit<DeclaredCommand, 'sha256'> => ({
  argv,
  ...(cwd === undefined ? {} : { cwd }),
});

export const testCommandToWire = ({ argv, cwd }: Omit<DeclaredCommand, 'sha256'>): wire.TestCommand => ({
  argv: [...argv],
  cwd,
  sha256: '',
});

/** Throws `WireMismatch` for a state that this side does not know, and for a task without an actor. */
export const taskFromWire = (task: wire.Task): TaskRecord => {
  if (task.actor === undefined) throw new WireMismatch('a task without an actor');
  return {
    taskId: task.taskId,
    actor: { tenant: task.actor.tenant, user: task.actor.user, agent: task.actor.agent },
    title: task.title,
    ...(task.workspace === undefined ? {} : { workspace: workspaceFromWire(task.workspace) }),
    state: states.fromWire(task.state),
    ...(task.outcome === wire.TaskOutcome.UNSPECIFIED ? {} : { outcome: taskOutcomeFromWire(task.outcome) }),
    ...(task.testCommand === undefined
      ? {}
      : { testCommand: { ...testCommandFromWire(task.testCommand), sha256: task.testCommand.sha256 } }),
    ...(task.failure === undefined ? {} : { failure: toolErrorFromWire(task.failure) }),
    ...taskRulesFromWire(task),
    ...(task.widened.length === 0 ? {} : { widened: task.widened.map(wideningFromWire) }),
    createdAt: task.createdAtMs,
    ...(task.endedAtMs === undefined ? {} : { endedAt: task.endedAtMs }),
  };
};

const wideningFromWire = ({ by, atMs, writable, hosts, note }: wire.TaskWidening): TaskWidening => ({
  by,
  at: atMs,
  ...(writable.length === 0 ? {} : { writable }),
  ...(hosts.length === 0 ? {} : { hosts }),
  ...(note === undefined ? {} : { note }),
});

const workspaceFromWire = ({ id, source }: wire.Workspace): WorkspaceRef => {
  if (source === undefined) throw new WireMismatch('a workspace without a source');
  return { id, source: workspaceSourceFromWire(source) };
};
