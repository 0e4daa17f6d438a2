import { ERROR_TABLE, type ErrorType, type Outcome } from '@toolfabric/contract';
import { type Json, toFabricError } from '@toolfabric/kernel';
import { defineTool, type ProbeAnswer, type Redactor, type ToolContext } from '@toolfabric/worker-runtime';
import { z } from 'zod';
import {
  artifactsOf,
  commandData,
  effectOfCommand,
  fitData,
  limitOf,
  refusedText,
  truncationOf,
} from '../command/command-data.ts';
import type { CommandSettings } from '../command/command-settings.ts';
import { probeRun } from '../command/probe-run.ts';
import { resolveFor } from '../command/resolve-for.ts';
import { type CommandEnd, NeverBegan, runCommand } from '../command/run-command.ts';
import { resolveWorkDirectory } from '../command/work-directory.ts';
import type { Driver } from '../driver.ts';
import { OVERHEAD_BYTES } from '../output/json-bytes.ts';
import { toldError } from '../output/told-error.ts';
import { stopReason } from '../process/stop-reason.ts';
import type { OpenWorkspace } from '../workspace/open-workspace.ts';

/** Hosts that a command may reach; the router made the leave for them. */
export const Network = z.strictObject({ hosts: z.array(z.string().max(300)).min(1).max(20) });

const Args = z.strictObject({
  argv: z.array(z.string().max(4096)).min(1).max(100),
  cwd: z.string().min(1).default('.'),
  timeout_ms: z.int().min(100).max(3_600_000).optional(),
  network: Network.optional(),
});
type Args = z.infer<typeof Args>;

/** Milliseconds of the call that are kept free for what comes after the program. */
const SPARE_MS = 3_000;

export const timeOf = (ctx: ToolContext, asked: number | undefined): number => {
  const most = Math.max(1_000, ctx.limits.timeoutMs - SPARE_MS);
  return asked === undefined ? most : Math.min(most, asked);
};

const errorOf = (type: ErrorType, message: string): NonNullable<Outcome['error']> => ({
  type,
  layer: ERROR_TABLE[type].layer,
  message,
  retryable: false,
  hint: ERROR_TABLE[type].hint,
});

const SAID: Readonly<Record<string, string>> = {
  wall_time: 'it took longer than it may',
  cpu_time: 'it used more processor time than it may',
  memory: 'it needed more memory than it may',
  processes: 'it started more processes than it may',
  disk: 'it wrote more than the workspace may hold',
  output: 'it printed more than it may',
};

/** How a run went, as status, summary and error; the same for every tool that runs a command. */
export const verdictOf = (end: CommandEnd, ctx: ToolContext): Pick<Outcome, 'status' | 'summary' | 'error'> => {
  const limit = limitOf(end);
  const time = `after ${Math.round(end.durationMs)} ms`;
  if (end.ending === 'aborted') {
    const { type, message } = stopReason(ctx.signal);
    return {
      status: 'error',
      summary: `Ended ${time}: ${message}.`,
      error: errorOf(type, `the program was ended: ${message}`),
    };
  }
  if (limit !== null && (end.ending !== 'exited' || end.code !== 0)) {
    const why = `${SAID[limit]} (${limit})`;
    return { status: 'error', summary: `Ended ${time}: ${why}.`, error: errorOf('limit_reached', why) };
  }
  // What another code than 0 means is for the contract to say.
  return { status: 'ok', summary: `Exit code ${end.code} ${time}.` };
};

export const outcomeOf = (workspace: OpenWorkspace, ctx: ToolContext, end: CommandEnd): Outcome => {
  const data = fitData((shares) => commandData(end, shares), ctx.limits.outputBytes - OVERHEAD_BYTES);
  const truncation = truncationOf(end, data);
  const { total } = end.after.changes;
  const verdict = verdictOf(end, ctx);
  return {
    ...verdict,
    summary: `${verdict.summary} ${total} ${total === 1 ? 'file' : 'files'} changed, ${end.survivors} survivors.${refusedText(end)}`,
    data: data as NonNullable<Outcome['data']>,
    ...artifactsOf(end),
    ...effectOfCommand(end),
    ...(truncation.length === 0 ? {} : { truncation }),
    trust: 'untrusted',
    origin: workspace.origin,
    ...(end.cpuMs === undefined ? {} : { usage: { durationMs: end.durationMs, cpuMs: end.cpuMs } }),
  };
};

/** The effect had begun in name, and no program ever ran: an error without effect, not an unknown end. */
export const neverRan = (workspace: OpenWorkspace, redactor: Redactor, thrown: unknown): Outcome => ({
  ...toldError(redactor, toFabricError(thrown, 'tool_failed'), 'Nothing ran.'),
  origin: workspace.origin,
});

/** Without the note a later question is answered less well, and that is all. */
const noteEnd = (settings: CommandSettings, workspace: OpenWorkspace, id: string, outcome: Outcome): void => {
  try {
    settings.records.ended(workspace.record.id, id, outcome);
  } catch {
    // The disk is full, or the state directory is gone.
  }
};

/** The answer to a call, beside the workspace too: whoever asks later what became of the run finds it there. */
export const settleRun = async (
  settings: CommandSettings,
  workspace: OpenWorkspace,
  ctx: ToolContext,
  work: () => Promise<{ id: string; outcome: Outcome }>,
): Promise<Outcome> => {
  try {
    const { id, outcome: whole } = await work();
    const outcome = ctx.redactor.json(whole);
    noteEnd(settings, workspace, id, outcome);
    return outcome;
  } catch (thrown) {
    if (thrown instanceof NeverBegan) return neverRan(workspace, ctx.redactor, thrown.cause);
    throw thrown;
  }
};

const run = (driver: Driver, outer: ToolContext, args: Args): Promise<Outcome> => {
  const settings = driver.commands;
  const resolved = resolveFor(outer, settings.programs, args.argv);
  return driver.changing(outer, async (workspace, lock, ctx) => {
    const cwd = await resolveWorkDirectory(workspace, args.cwd);
    return settleRun(settings, workspace, ctx, async () => {
      const { id, end } = await runCommand(settings, workspace, lock, ctx, {
        resolved,
        cwd,
        timeMs: timeOf(ctx, args.timeout_ms),
        atOutputCap: 'end',
        shown: { headBytes: 6_144, tailBytes: 6_144 },
        diffBytes: 12_288,
        network: args.network !== undefined,
      });
      return { id, outcome: outcomeOf(workspace, ctx, end) };
    });
  });
};

/** Without the lock, or without the workspace, nobody can tell yet. */
export const notVisible = (thrown: unknown): ProbeAnswer => ({
  answer: 'not_visible',
  reason: toFabricError(thrown, 'tool_failed').type,
});

export const probe = (
  driver: Driver,
  ctx: ToolContext,
  intent: Json | undefined,
  repeatable: boolean,
): Promise<ProbeAnswer> =>
  driver
    .probing(ctx, intent, (workspace) => probeRun(driver.commands.records, workspace, intent, { repeatable }))
    .catch(notVisible);

/** `process.run`: one program of the list, with its arguments checked, confined to the workspace. */
export const processRunTool = (driver: Driver) =>
  defineTool<Args>({
    handler: 'process.run',
    effect: 'workspace',
    args: Args,
    handle: (ctx, args) => run(driver, ctx, args),
    probe: (ctx, _args, intent) => probe(driver, ctx, intent, false),
  });
