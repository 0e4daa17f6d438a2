import type { DeclaredCommand, Evidence, Outcome } from '@toolfabric/contract';
import { compileGlob } from '@toolfabric/governance';
import { canonicalJson, FabricError, type Json, sha256Hex } from '@toolfabric/kernel';
import { defineTool, type ToolContext } from '@toolfabric/worker-runtime';
import { z } from 'zod';
import { readContent } from '../changes/contents.ts';
import { locateBelow } from '../changes/locate.ts';
import {
  artifactsOf,
  commandData,
  effectOfCommand,
  fitData,
  limitOf,
  refusedText,
  truncationOf,
} from '../command/command-data.ts';
import { resolveFor } from '../command/resolve-for.ts';
import { type CommandEnd, INSIDE_WORKSPACE, runCommand } from '../command/run-command.ts';
import { resolveWorkDirectory } from '../command/work-directory.ts';
import type { Driver } from '../driver.ts';
import { jsonBytes, OVERHEAD_BYTES } from '../output/json-bytes.ts';
import { type StoredFiles, storeFiles } from '../output/store-files.ts';
import { readJunit } from '../test-report/junit.ts';
import { ReportOfStreams } from '../test-report/read-report.ts';
import type { TestReport } from '../test-report/test-report.ts';
import { workspacePathOf } from '../test-report/workspace-path.ts';
import type { OpenWorkspace } from '../workspace/open-workspace.ts';
import { Network, probe, settleRun, timeOf, verdictOf } from './process-run.ts';

/** What runners write of their own accord; a call may name others. */
const REPORT_FILES = ['**/junit*.xml', '**/TEST-*.xml', 'test-results/**', 'coverage/lcov.info'];

const Args = z.strictObject({
  timeout_ms: z.int().min(100).max(3_600_000).optional(),
  artifacts: z.array(z.string().min(1).max(256)).max(10).default(REPORT_FILES),
  network: Network.optional(),
});
type Args = z.infer<typeof Args>;

/** The command that the task declared; what was declared is what runs. */
const declared = ({ testCommand }: ToolContext): DeclaredCommand => {
  if (testCommand === undefined) throw new FabricError('no_test_command', 'the task declares no test command');
  const { sha256, ...command } = testCommand;
  if (sha256Hex(canonicalJson(command)) === sha256) return testCommand;
  throw new FabricError('malformed_message', 'the test command is not the one that the task declared');
};

/** Failures that are told one by one, most of all. */
const MOST_SHOWN = 30;
const MOST_REF = 300;

/** A report file of the run says more than its output, where it was written. */
const reportFromFiles = (
  workspace: OpenWorkspace,
  { redactor }: ToolContext,
  end: CommandEnd,
): TestReport | undefined => {
  for (const path of end.after.changes.paths.filter((one) => one.endsWith('.xml')).slice(0, 20)) {
    const place = locateBelow(workspace.root.handle.fd, path);
    const mark = end.after.scan.marks.get(path);
    const content = place === undefined || mark === undefined ? undefined : readContent(place.at, mark);
    place?.close();
    const report = content === undefined ? undefined : readJunit(content.bytes.toString('utf8'), redactor.text);
    if (report !== undefined) return report;
  }
  return undefined;
};

type Verdict = 'passed' | 'failed' | 'not_run';

const testVerdict = (end: CommandEnd, report: TestReport | undefined): Verdict => {
  if (report !== undefined && report.failed > 0) return 'failed';
  if (end.ending !== 'exited' || end.code === null || limitOf(end) !== null) return 'not_run';
  const noneRan = report !== undefined && report.passed === 0;
  if (noneRan) return 'not_run';
  return end.code === 0 ? 'passed' : 'failed';
};

interface Told {
  readonly data: Record<string, Json>;
  readonly evidence: Evidence[];
}

const tell = (report: TestReport | undefined, cwd: string): Told => {
  if (report === undefined) return { data: {}, evidence: [] };
  const failures = report.failures.slice(0, MOST_SHOWN).map(({ name, file, line, message }) => {
    const path = file === undefined ? undefined : workspacePathOf(file, INSIDE_WORKSPACE, cwd);
    return {
      name,
      ...(path === undefined ? {} : { file: path }),
      ...(path === undefined || line === undefined ? {} : { line }),
      ...(message === undefined ? {} : { message }),
    };
  });
  const { runner, passed, failed, skipped } = report;
  const evidence = failures
    .flatMap(({ name, file, line }) =>
      file === undefined ? [] : [{ kind: 'line', ref: `${file}:${line ?? 1}`, detail: name }],
    )
    .filter(({ ref }) => ref.length <= MOST_REF);
  const left = report.failures.length + report.moreFailures - failures.length;
  const tests = { runner, passed, failed, skipped, failures, ...(left === 0 ? {} : { failures_not_shown: left }) };
  return { data: { tests }, evidence: evidence.slice(0, 20) };
};

const summaryOf = (verdict: Verdict, report: TestReport | undefined, how: string): string => {
  const counts =
    report === undefined
      ? 'no known runner in the output'
      : `${report.passed} passed, ${report.failed} failed, ${report.skipped} skipped (${report.runner})`;
  const first = report?.failures[0];
  return `Tests ${verdict.replace('_', ' ')}: ${counts}.${first === undefined ? '' : ` First failure: ${first.name}.`} ${how}`.slice(
    0,
    4_000,
  );
};

interface Parts {
  readonly workspace: OpenWorkspace;
  readonly ctx: ToolContext;
  readonly end: CommandEnd;
  readonly report: TestReport | undefined;
  readonly files: StoredFiles;
  readonly cwd: string;
}

const outcomeOf = ({ workspace, ctx, end, report, files, cwd }: Parts): Outcome => {
  const verdict = testVerdict(end, report);
  const told = tell(report, cwd);
  const run = verdictOf(end, ctx);
  const fixed: Record<string, Json> = {
    verdict,
    ...told.data,
    ...(files.stored.length === 0
      ? {}
      : { report_files: files.stored.map(({ path, id }) => ({ path, artifact: id })) }),
    ...(files.left.length === 0 ? {} : { report_files_left_out: files.left.map((one) => ({ ...one })) }),
  };
  const budget = ctx.limits.outputBytes - OVERHEAD_BYTES - jsonBytes(fixed);
  const data = { ...fixed, ...fitData((shares) => commandData(end, shares), Math.max(1_024, budget)) };
  const truncation = truncationOf(end, data);
  const effect = effectOfCommand(end);
  return {
    // Failing tests are an answer, not a failure of the tool.
    status: run.status,
    ...(run.error === undefined ? {} : { error: run.error }),
    summary: summaryOf(verdict, report, `${run.summary}${refusedText(end)}`),
    data: data as NonNullable<Outcome['data']>,
    ...artifactsOf(end, files.stored),
    sideEffect: effect.sideEffect,
    evidence: [...told.evidence, ...(effect.evidence ?? [])].slice(0, 40),
    ...(truncation.length === 0 ? {} : { truncation }),
    trust: 'untrusted',
    origin: workspace.origin,
    ...(end.cpuMs === undefined ? {} : { usage: { durationMs: end.durationMs, cpuMs: end.cpuMs } }),
  };
};

const storeReports = async (
  workspace: OpenWorkspace,
  ctx: ToolContext,
  end: CommandEnd,
  globs: readonly string[],
): Promise<StoredFiles> => {
  const wanted = globs.map(compileGlob);
  const { marks } = end.after.scan;
  const paths = end.after.changes.paths.filter((path) => marks.has(path) && wanted.some((glob) => glob.matches(path)));
  if (ctx.artifacts === undefined) {
    return { stored: [], left: paths.slice(0, 20).map((path) => ({ path, why: 'this call may store no artifact' })) };
  }
  return storeFiles({ root: workspace.root, paths, session: ctx.artifacts, redactor: ctx.redactor, prefix: 'report/' });
};

const run = async (driver: Driver, outer: ToolContext, args: Args): Promise<Outcome> => {
  const settings = driver.commands;
  const command = declared(outer);
  const resolved = resolveFor(outer, settings.programs, command.argv);
  const globs = args.artifacts;
  globs.forEach(compileGlob);
  return await driver.changing(outer, async (workspace, lock, ctx) => {
    const cwd = await resolveWorkDirectory(workspace, command.cwd ?? '.');
    return settleRun(settings, workspace, ctx, async () => {
      const output = new ReportOfStreams();
      const { id, end } = await runCommand(settings, workspace, lock, ctx, {
        resolved,
        cwd,
        timeMs: timeOf(ctx, args.timeout_ms),
        // The counts stand at the end of the output.
        atOutputCap: 'drop',
        shown: { headBytes: 4_096, tailBytes: 8_192 },
        diffBytes: 8_192,
        listen: output,
        network: args.network !== undefined,
      });
      const report = output.end() ?? reportFromFiles(workspace, ctx, end);
      const files = await storeReports(workspace, ctx, end, globs);
      return { id, outcome: outcomeOf({ workspace, ctx, end, report, files, cwd }) };
    });
  });
};

/** `test.run`: the test command of the task, confined; failing tests are an `ok` answer with the verdict `failed`. */
export const testRunTool = (driver: Driver) =>
  defineTool<Args>({
    handler: 'test.run',
    effect: 'workspace',
    args: Args,
    handle: (ctx, args) => run(driver, ctx, args),
    // Only the answer of a whole run counts, so one that was cut may be made again.
    probe: (ctx, _args, intent) => probe(driver, ctx, intent, true),
  });
