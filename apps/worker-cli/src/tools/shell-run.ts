import type { Outcome } from '@toolfabric/contract';
import { FabricError } from '@toolfabric/kernel';
import { defineTool, type ToolContext } from '@toolfabric/worker-runtime';
import { z } from 'zod';
import { runCommand } from '../command/run-command.ts';
import { resolveWorkDirectory } from '../command/work-directory.ts';
import type { Driver } from '../driver.ts';
import { type ResolvedShell, resolveShell } from '../shell/resolve-shell.ts';
import { outcomeOf, probe, settleRun, timeOf } from './process-run.ts';

const Args = z.strictObject({
  run: z.string().min(8).max(100),
  script: z.string().min(1).max(8_192),
  cwd: z.string().min(1).default('.'),
  timeout_ms: z.int().min(100).max(3_600_000).optional(),
});
type Args = z.infer<typeof Args>;

/** What a refusal quotes of the text is redacted. */
const resolveFor = (driver: Driver, { redactor, approval, analysis }: ToolContext, args: Args): ResolvedShell => {
  const { script, cwd } = args;
  try {
    return resolveShell(driver.commands.programs, { script, cwd, approval, analysis, redact: redactor.text });
  } catch (thrown) {
    if (!(thrown instanceof FabricError)) throw thrown;
    throw new FabricError(thrown.type, redactor.text(thrown.message), thrown.details);
  }
};

const withMode = (outcome: Outcome, mode: ResolvedShell['mode']): Outcome => ({
  ...outcome,
  data: { mode, ...(outcome.data as Record<string, NonNullable<Outcome['data']>>) },
});

const run = (driver: Driver, outer: ToolContext, args: Args): Promise<Outcome> => {
  const settings = driver.commands;
  const { mode, resolved } = resolveFor(driver, outer, args);
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
      });
      return { id, outcome: withMode(outcomeOf(workspace, ctx, end), mode) };
    });
  });
};

/** `shell.run`: a text of bash, run from its analysis where that says everything, by bash where a person said yes to it. */
export const shellRunTool = (driver: Driver) =>
  defineTool<Args>({
    handler: 'shell.run',
    effect: 'outside',
    args: Args,
    handle: (ctx, args) => run(driver, ctx, args),
    probe: (ctx, _args, intent) => probe(driver, ctx, intent, false),
  });
