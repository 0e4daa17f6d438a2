import { chmod, mkdir, mkdtemp, realpath, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { WorkspaceSource } from '@toolfabric/contract';
import { FabricError, type Json, noFaults, randomId, systemClock } from '@toolfabric/kernel';
import { type AnyTool, plainRedactor, type ToolContext } from '@toolfabric/worker-runtime';
import { createDriver, type Driver, type DriverOptions } from '../driver.ts';
import { findPrograms } from '../process/find-program.ts';
import { createTools } from '../tools/index.ts';
import { layoutOf } from '../workspace/layout.ts';
import { prepareWorkspace } from '../workspace/prepare-workspace.ts';
import type { WorkspaceRecord } from '../workspace/workspace-record.ts';
import type { WorkspaceSettings } from '../workspace/workspace-settings.ts';

export const isRoot = process.getuid?.() === 0;

/** Where the tests find the system programs. */
export const TEST_PATH = ['/usr/local/bin', '/usr/bin', '/bin', '/usr/sbin', '/opt/homebrew/bin'];

export interface Fixture {
  readonly base: string;
  /** A configured root. */
  readonly root: string;
  readonly settings: WorkspaceSettings;
  readonly driver: Driver;
  remove(): Promise<void>;
}

export interface FixtureOptions {
  /** False leaves the directory above as it is made: nobody but its owner passes it. */
  readonly reachable?: boolean;
  readonly allowRootOwned?: boolean;
  readonly lockWaitMs?: number;
  readonly searchPath?: readonly string[];
  readonly commands?: NonNullable<DriverOptions['commands']>;
  /** Repositories in `base/remotes` may be pushed to. */
  readonly remotes?: boolean;
}

export const makeFixture = async (options: FixtureOptions = {}): Promise<Fixture> => {
  const base = await realpath(await mkdtemp(join(tmpdir(), 'worker-cli-')));
  if (options.reachable ?? true) await chmod(base, 0o755);
  const root = join(base, 'root');
  await mkdir(root, { mode: 0o755 });
  const settings: WorkspaceSettings = {
    layout: layoutOf(join(base, 'state')),
    roots: [root],
    protectedDirs: [],
    cloneSources: [],
    allowRootOwned: options.allowRootOwned ?? false,
    users: { first: 40_000, count: 20_000 },
    worker: { uid: process.getuid?.() ?? 0, gid: process.getgid?.() ?? 0 },
    programs: findPrograms(options.searchPath ?? TEST_PATH),
  };
  const driver = await createDriver(settings, {
    lockWaitMs: options.lockWaitMs ?? 5_000,
    ...(options.commands === undefined ? {} : { commands: options.commands }),
    ...(options.remotes === true ? { remotes: [join(base, 'remotes')] } : {}),
  });
  const remove = async () => {
    await driver.close();
    await rm(base, { recursive: true, force: true });
  };
  return { base, root, settings, driver, remove };
};

/** Prepares a workspace, an empty one unless a source is given. */
export const makeWorkspace = async (
  { settings, driver }: Pick<Fixture, 'settings' | 'driver'>,
  source: WorkspaceSource = { type: 'empty' },
): Promise<WorkspaceRecord> =>
  prepareWorkspace(
    settings,
    { id: `t-${randomId()}`, source },
    {
      timeoutMs: 60_000,
      signal: new AbortController().signal,
      redactor: plainRedactor,
      confinement: driver.commands.confinement,
    },
  );

export interface CallOptions {
  readonly outputBytes?: number;
  readonly timeoutMs?: number;
  readonly signal?: AbortSignal;
  readonly faults?: ToolContext['faults'];
  readonly beginEffect?: ToolContext['beginEffect'];
  readonly background?: boolean;
  readonly testCommand?: NonNullable<ToolContext['testCommand']>;
  readonly writable?: readonly string[];
  readonly artifacts?: NonNullable<ToolContext['artifacts']>;
  readonly redactor?: ToolContext['redactor'];
  readonly approval?: string;
  readonly boundFiles?: NonNullable<ToolContext['boundFiles']>;
  readonly analysis?: string;
  readonly egress?: NonNullable<ToolContext['egress']>;
}

export const contextFor = (
  workspace: Pick<WorkspaceRecord, 'id' | 'source'> | undefined,
  options: CallOptions = {},
): ToolContext => ({
  callId: `2969-${randomId()}`,
  operationKey: 'op.fixture',
  epoch: 1,
  actor: { tenant: 'acme', user: 'u', agent: 'a' },
  taskId: workspace?.id ?? 't-none',
  signal: options.signal ?? new AbortController().signal,
  clock: systemClock,
  limits: { timeoutMs: options.timeoutMs ?? 30_000, outputBytes: options.outputBytes ?? 40_000 },
  outputTokens: undefined,
  background: options.background ?? false,
  testCommand: options.testCommand,
  writable: options.writable,
  approval: options.approval,
  boundFiles: options.boundFiles,
  analysis: options.analysis,
  options: {},
  egress: options.egress,
  artifacts: options.artifacts,
  redactor: options.redactor ?? plainRedactor,
  workspace: workspace && { id: workspace.id, source: workspace.source },
  faults: options.faults ?? noFaults,
  progress: () => {},
  beginEffect: options.beginEffect ?? (async () => {}),
});

const toolOf = (driver: Driver, handler: string): AnyTool => {
  const tool = createTools(driver).find((candidate) => candidate.handler === handler);
  if (!tool) throw new Error(`no tool ${handler}`);
  return tool;
};

/** Runs a tool as the runtime does: arguments parsed by the tool's own schema. */
export const callTool = async (
  driver: Driver,
  handler: string,
  workspace: Pick<WorkspaceRecord, 'id' | 'source'> | undefined,
  args: Record<string, unknown>,
  options: CallOptions = {},
) => {
  const tool = toolOf(driver, handler);
  return tool.handle(contextFor(workspace, options), tool.args.parse(args));
};

export const probeTool = async (
  driver: Driver,
  handler: string,
  workspace: Pick<WorkspaceRecord, 'id' | 'source'>,
  args: Record<string, unknown>,
  intent: Json | undefined,
  options: CallOptions = {},
) => {
  const tool = toolOf(driver, handler);
  if (!tool.probe) throw new Error(`${handler} has no probe`);
  return tool.probe(contextFor(workspace, options), tool.args.parse(args), intent);
};

/** The type of the `FabricError` that `work` ends with; `none` when it ends well. */
export const errorType = async (work: Promise<unknown>): Promise<string> => {
  try {
    await work;
    return 'none';
  } catch (thrown) {
    if (thrown instanceof FabricError) return thrown.type;
    throw thrown;
  }
};
