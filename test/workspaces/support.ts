import { execFileSync } from 'node:child_process';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { createArtifactStore } from '@toolfabric/artifact-http';
import { contractDigests, loadBuiltinContracts } from '@toolfabric/catalogue';
import type { FabricClient } from '@toolfabric/client';
import type { CallView, RegistryRecord, TaskRecord, WorkspaceHead, WorkspaceSource } from '@toolfabric/contract';
import { type ArtifactPermit, PERMIT_TYPE } from '@toolfabric/contract';
import { createSigner, sha256Hex } from '@toolfabric/kernel';
import { taskKey, toolKey } from '@toolfabric/ledger';
import { type SpawnedService, waitFor } from '@toolfabric/testkit';
import { ADA, Cluster } from '../support/cluster.ts';

const WAIT = { waitMs: 60_000, timeoutMs: 75_000 };
export const TRUSTED = 'cli-trusted';

/** Reading and editing by the other pool: the same handlers under other names. */
const publishTrusted = async (cluster: Cluster): Promise<void> => {
  for (const contract of loadBuiltinContracts()) {
    if (!['workspace.read_file', 'workspace.edit_file'].includes(contract.name)) continue;
    const trusted = {
      ...contract,
      name: contract.name.replace('workspace.', 'trusted.'),
      execution: { ...contract.execution, pools: [TRUSTED] },
    };
    const record: RegistryRecord = {
      contract: trusted,
      state: 'published',
      ...contractDigests(trusted),
      publishedAt: 0,
    };
    await cluster.ledger.registry.create(toolKey(trusted.name, trusted.version), record);
  }
};

/** A cluster without workers, and what its tests do with them. */
export class Workshop {
  readonly cluster: Cluster;
  readonly client: FabricClient;

  private constructor(cluster: Cluster) {
    this.cluster = cluster;
    this.client = cluster.client();
  }

  static async open(): Promise<Workshop> {
    const cluster = await Cluster.start({ kinds: [TRUSTED] });
    await publishTrusted(cluster);
    await cluster.ensure('artifacts');
    await Promise.all([cluster.ensure('router'), cluster.ensure('gateway')]);
    return new Workshop(cluster);
  }

  async worker(name: string, faults = '', kind = 'cli'): Promise<SpawnedService> {
    const service = this.cluster.spawnApart(name, faults, kind);
    await service.ready;
    return service;
  }

  async kill(service: SpawnedService): Promise<void> {
    service.kill('SIGCONT');
    service.kill('SIGKILL');
    await service.exited;
  }

  /** Resolves when an armed fault has stopped the process. */
  async paused({ pid }: SpawnedService): Promise<void> {
    const state = () => /\) (\S)/.exec(readFileSync(`/proc/${pid}/stat`, 'latin1'))?.[1];
    await waitFor(() => state() === 'T', { timeoutMs: 30_000, what: 'the process to be stopped' });
  }

  async drain(service: SpawnedService): Promise<void> {
    service.kill('SIGTERM');
    await service.exited;
  }

  /** A repository below a configured root. */
  repository(name: string, files: Readonly<Record<string, string>>): string {
    const directory = join(this.cluster.workspaceRoot, name);
    for (const [path, text] of Object.entries(files)) {
      mkdirSync(dirname(join(directory, path)), { recursive: true });
      writeFileSync(join(directory, path), text);
    }
    const git = (...args: string[]) => execFileSync('git', ['-C', directory, ...args], { stdio: 'ignore' });
    git('init', '-q');
    git('add', '-A');
    git('-c', 'user.name=a', '-c', 'user.email=a@example.org', 'commit', '-q', '-m', 'first');
    return directory;
  }

  async task(workspace: WorkspaceSource, testCommand?: { argv: string[] }): Promise<string> {
    const wanted = { title: 'apart', workspace, ...(testCommand === undefined ? {} : { testCommand }) };
    return (await this.client.createTask(wanted)).taskId;
  }

  call(taskId: string, tool: string, args: Record<string, string | string[]>, options = WAIT): Promise<CallView> {
    return this.client.call({ taskId, tool, args }, options);
  }

  async read(taskId: string, path: string, tool = 'workspace.read_file'): Promise<string> {
    const { state, result } = await this.call(taskId, tool, { path });
    if (state !== 'ok') throw new Error(`${path}: ${state} ${result?.error?.type ?? ''}`);
    return (result?.data as { text?: string } | undefined)?.text ?? '';
  }

  async readError(taskId: string, path: string): Promise<string | undefined> {
    return (await this.call(taskId, 'workspace.read_file', { path })).result?.error?.type;
  }

  make(taskId: string, path: string, text: string, tool = 'workspace.edit_file'): Promise<CallView> {
    return this.call(taskId, tool, { path, old_text: '', new_text: text, expected_sha256: 'absent' });
  }

  change(taskId: string, path: string, before: string, after: string): Promise<CallView> {
    const args = { path, old_text: before, new_text: after, expected_sha256: sha256Hex(before) };
    return this.call(taskId, 'workspace.edit_file', args);
  }

  async taskRecord(taskId: string): Promise<TaskRecord> {
    const stored = await this.cluster.ledger.tasks.get(taskKey(ADA.tenant, taskId));
    if (!stored) throw new Error('no such task');
    return stored.value;
  }

  homeOf(taskId: string): Promise<NonNullable<TaskRecord['home']>> {
    return waitFor(async () => (await this.taskRecord(taskId)).home, { what: 'the task to have a home' });
  }

  async movedFrom(taskId: string, incarnation: string): Promise<NonNullable<TaskRecord['home']>> {
    const moved = async () => {
      const { home } = await this.taskRecord(taskId);
      return home && home.incarnation !== incarnation ? home : undefined;
    };
    return waitFor(moved, { timeoutMs: 30_000, what: 'the home to move' });
  }

  /** Who ran the call, from the claim or from the result message. */
  async ranBy({ callId }: CallView, kind = 'cli'): Promise<string> {
    const claim = await this.cluster.claim(kind, callId);
    if (claim) return claim.incarnation;
    return (await this.cluster.ledger.results.get(kind, ADA.tenant, callId, 1))?.by ?? '';
  }

  /** The head of a workspace, as a worker sees it. */
  async head(taskId: string): Promise<WorkspaceHead> {
    const { kid, privateKey } = this.cluster.nats.signing;
    const permit: ArtifactPermit = {
      action: 'call',
      actor: ADA,
      taskId,
      callId: '2969-observer',
      epoch: 1,
      workspace: taskId,
      maxBytes: 1,
      retentionDays: 1,
      expires: Date.now() + 60_000,
    };
    const store = createArtifactStore({ url: this.cluster.artifactsUrl });
    try {
      const session = store.session(createSigner(kid, privateKey).sign(PERMIT_TYPE, JSON.stringify(permit)));
      return await session.head(AbortSignal.timeout(5_000));
    } finally {
      store.close();
    }
  }

  stop(): Promise<void> {
    this.client.close();
    return this.cluster.stop();
  }
}
