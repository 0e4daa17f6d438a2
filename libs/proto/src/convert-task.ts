import {
  type DeclaredCommand,
  TaskOutcome,
  TaskRecord,
  type WorkspaceRef,
  type WorkspaceSource,
} from '@toolfabric/contract';
import { toolErrorFromWire, toolErrorToWire } from './convert-error.ts';
import { enumCodec, WireMismatch } from './enum-codec.ts';
import * as wire from './gen/toolfabric/v1/task.ts';

const states = enumCodec('task state', wire.TaskState, TaskRecord.shape.state.options);
const outcomes = enumCodec('task outcome', wire.TaskOutcome, TaskOutcome.options);

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
    createdAt: task.createdAtMs,
    ...(task.endedAtMs === undefined ? {} : { endedAt: task.endedAtMs }),
  };
};

const workspaceFromWire = ({ id, source }: wire.Workspace): WorkspaceRef => {
  if (source === undefined) throw new WireMismatch('a workspace without a source');
  return { id, source: workspaceSourceFromWire(source) };
};
