import { chmod, mkdir, mkdtemp, realpath, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Outcome, WorkspaceSource } from '@toolfabric/contract';
import { type Json, randomId } from '@toolfabric/kernel';
import { probeCallId } from '@toolfabric/ledger';
import type { ProbeAnswer, ToolContext } from '@toolfabric/worker-runtime';
import { createDriver, type Driver, type DriverOptions } from '../driver.ts';
import { findPrograms } from '../process/find-program.ts';
import { createTools } from '../tools/index.ts';
import { layoutOf } from '../workspace/layout.ts';
import type { WorkspaceSettings } from '../workspace/workspace-settings.ts';
import { type CallOptions, contextFor, TEST_PATH } from './driver-fixture.ts';
import { MemoryArtifacts } from './memory-artifacts.ts';

export interface KeptRef {
  readonly id: string;
  readonly source: WorkspaceSource;
}

export interface KeptOptions extends CallOptions {
  readonly callId?: string;
  readonly epoch?: number;
}

/** One worker on storage of its own, as its tools see it. */
export class KeptWorker {
  readonly driver: Driver;
  readonly settings: WorkspaceSettings;
  readonly #artifacts: MemoryArtifacts;

  private constructor(driver: Driver, settings: WorkspaceSettings, artifacts: MemoryArtifacts) {
    this.driver = driver;
    this.settings = settings;
    this.#artifacts = artifacts;
  }

  static async open(
    state: string,
    roots: readonly string[],
    artifacts: MemoryArtifacts,
    options: Partial<DriverOptions> = {},
  ): Promise<KeptWorker> {
    const settings: WorkspaceSettings = {
      layout: layoutOf(state),
      roots,
      protectedDirs: [],
      cloneSources: [],
      allowRootOwned: true,
      users: { first: 40_000, count: 20_000 },
      worker: { uid: process.getuid?.() ?? 0, gid: process.getgid?.() ?? 0 },
      programs: findPrograms(TEST_PATH),
    };
    const driver = await createDriver(settings, { lockWaitMs: 5_000, storage: 'own', ...options });
    return new KeptWorker(driver, settings, artifacts);
  }

  context(ref: KeptRef, options: KeptOptions = {}): ToolContext {
    const callId = options.callId ?? `2969-${randomId()}`;
    const epoch = options.epoch ?? 1;
    const artifacts = this.#artifacts.session(ref.id, callId, epoch);
    return { ...contextFor(ref, options), callId, epoch, artifacts };
  }

  async call(
    ref: KeptRef,
    handler: string,
    args: Record<string, unknown>,
    options: KeptOptions = {},
  ): Promise<Outcome> {
    const tool = this.#tool(handler);
    return tool.handle(this.context(ref, options), tool.args.parse(args));
  }

  /** What became of the call, asked as the router asks. */
  async probe(ref: KeptRef, handler: string, callId: string, args: object, intent?: Json): Promise<ProbeAnswer> {
    const tool = this.#tool(handler);
    const ctx = this.context(ref, { callId: probeCallId(callId, 1) });
    if (!tool.probe) throw new Error(`${handler} has no probe`);
    return tool.probe(ctx, tool.args.parse(args), intent);
  }

  async prepare(source: WorkspaceSource = { type: 'empty' }, id = `t-${randomId()}`): Promise<KeptRef> {
    await this.call({ id, source }, 'workspace.prepare', {});
    return { id, source };
  }

  write(ref: KeptRef, path: string, text: string, expected = 'absent', old = '', options: KeptOptions = {}) {
    const args = { path, old_text: old, new_text: text, expected_sha256: expected };
    return this.call(ref, 'workspace.edit_file', args, options);
  }

  async read(ref: KeptRef, path: string): Promise<string> {
    const { data } = await this.call(ref, 'workspace.read_file', { path });
    return (data as { text: string }).text;
  }

  rootOf(ref: KeptRef): string {
    return join(this.settings.layout.workspaces, ref.id);
  }

  #tool(handler: string) {
    const tool = createTools(this.driver).find((one) => one.handler === handler);
    if (!tool) throw new Error(`no tool ${handler}`);
    return tool;
  }
}

/** Two workers, each with a state directory of its own, around one store. */
export class KeptPair {
  readonly artifacts = new MemoryArtifacts();
  readonly base: string;
  readonly root: string;
  readonly one: KeptWorker;
  readonly two: KeptWorker;

  private constructor(base: string, artifacts: MemoryArtifacts, one: KeptWorker, two: KeptWorker) {
    this.base = base;
    this.root = join(base, 'root');
    this.artifacts = artifacts;
    this.one = one;
    this.two = two;
  }

  static async open(options: Partial<DriverOptions> = {}): Promise<KeptPair> {
    const base = await realpath(await mkdtemp(join(tmpdir(), 'kept-')));
    await chmod(base, 0o755);
    await mkdir(join(base, 'root'), { mode: 0o755 });
    const artifacts = new MemoryArtifacts();
    const open = (name: string) => KeptWorker.open(join(base, name), [join(base, 'root')], artifacts, options);
    return new KeptPair(base, artifacts, await open('one'), await open('two'));
  }

  /** A worker that starts on the state directory of another one that ended. */
  again(name: 'one' | 'two'): Promise<KeptWorker> {
    return KeptWorker.open(join(this.base, name), [this.root], this.artifacts);
  }

  async close(): Promise<void> {
    await Promise.all([this.one.driver.close(), this.two.driver.close()]);
    await rm(this.base, { recursive: true, force: true });
  }
}
