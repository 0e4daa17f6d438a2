import { contractDigests, parseContract } from '@toolfabric/catalogue';
import type { FabricClient } from '@toolfabric/client';
import type { ApprovalRecord, RegistryRecord } from '@toolfabric/contract';
import { systemClock, uuidv7 } from '@toolfabric/kernel';
import { approvalKey, changeRecord, toolKey } from '@toolfabric/ledger';
import { waitFor } from '@toolfabric/testkit';
import { ADA, type AppName, Cluster } from '../../support/cluster.ts';

/** Outside writes of the truth log under other names: about a note of a repository, so that they lie in scopes. */
const post = (name: string, risk: string, more: object = {}) =>
  parseContract({
    name,
    version: '1.0.0',
    toolset: 'note',
    capability: {
      intent: name,
      description: 'Posts a note where others see it; exists for tests of approvals, whose truth is a log.',
      use_when: ['A test needs a person to say yes.'],
      not_for: ['Anything outside of a test: use the workspace tools.'],
      examples: [{ arguments: { identity: 'shop/checkout/1' } }],
    },
    input: {
      type: 'object',
      additionalProperties: false,
      required: ['identity'],
      properties: {
        identity: { type: 'string', minLength: 1, maxLength: 200, description: 'Where it is posted.' },
        body: { type: 'string', maxLength: 20_000, description: 'What it says.' },
        delay_ms: { type: 'integer', minimum: 0, maximum: 30_000, description: 'Milliseconds to take.' },
      },
    },
    execution: {
      adapter: 'cli',
      handler: 'truth.append_outside',
      isolation: 'process',
      timeout_ms: 20_000,
      pools: ['truth'],
    },
    output: { format: 'json', budget_bytes: 4_096 },
    governance: {
      risk,
      idempotent: false,
      operation_key: '{/identity}',
      effect_scope: name,
      resource: 'note:repo:{/identity}',
      preview: 'post a note at {/identity}',
      reconcile: { by: 'probe', fence: 'none', window_ms: 5_000 },
      ...more,
    },
  });

export const POST = 'note.post';
export const ERASE = 'note.erase';
/** Its identity is a file of the workspace, which it runs as far as its contract tells. */
export const RUN = 'note.run';

interface Asked {
  readonly tool?: string;
  readonly taskId?: string;
  readonly requestKey?: string;
  readonly body?: string;
}

export class ApprovalCluster {
  readonly cluster: Cluster;
  /** Who asks. */
  readonly ada: FabricClient;
  /** May decide everything. */
  readonly grace: FabricClient;
  /** Likewise, and strong ones. */
  readonly linus: FabricClient;
  readonly alan: FabricClient;
  taskId = '';

  private constructor(cluster: Cluster) {
    this.cluster = cluster;
    this.ada = cluster.client();
    this.grace = cluster.client({ user: 'grace', rights: ['approvals:decide'] });
    const rights = ['approvals:decide', 'approvals:strong'];
    this.linus = cluster.client({ user: 'linus', rights });
    this.alan = cluster.client({ user: 'alan', rights });
  }

  static async start(apps: readonly AppName[] = ['router', 'gateway', 'truth']): Promise<ApprovalCluster> {
    const cluster = await Cluster.startWith(apps);
    const made = new ApprovalCluster(cluster);
    const run = post(RUN, 'external_write', { executes: ['/identity'] });
    for (const contract of [post(POST, 'external_write'), post(ERASE, 'irreversible'), run]) {
      const record: RegistryRecord = { contract, state: 'published', ...contractDigests(contract), publishedAt: 0 };
      await cluster.ledger.registry.create(toolKey(contract.name, contract.version), record);
    }
    await made.seen(made.grace, made.linus, made.alan);
    await waitFor(async () => (await made.ada.listTools()).tools.some(({ name }) => name === ERASE), {
      timeoutMs: 10_000,
      what: 'the tools to be seen',
    });
    made.taskId = (await made.ada.createTask({ title: 'approvals' })).taskId;
    return made;
  }

  /** The gateway has read the tokens of these. */
  async seen(...clients: FabricClient[]): Promise<void> {
    for (const client of clients)
      await waitFor(() => client.listApprovals({ limit: 1 }).catch(() => undefined), { timeoutMs: 10_000 });
  }

  /** Proposes a note; resolves with the ids of the call and of its approval. */
  async ask(identity: string, more: Asked = {}) {
    const { tool = POST, taskId = this.taskId, requestKey = uuidv7(), body } = more;
    const args = { identity, ...(body === undefined ? {} : { body }) };
    const ask = () => this.ada.call({ taskId, tool, args, requestKey });
    let view = await ask();
    // Routers that were just killed still have their share of the quotas for a moment.
    for (const until = Date.now() + 10_000; view.result?.error?.type === 'rate_limited' && Date.now() < until; ) {
      await new Promise((resolve) => setTimeout(resolve, view.result?.error?.retryAfterMs ?? 100));
      view = await ask();
    }
    if (view.approvalId === undefined) throw new Error(`not asked: ${view.state} ${view.result?.summary}`);
    return { callId: view.callId, approvalId: view.approvalId, view, requestKey };
  }

  async record(approvalId: string): Promise<ApprovalRecord | undefined> {
    return (await this.cluster.ledger.approvals.get(approvalKey(ADA.tenant, approvalId)))?.value;
  }

  /** Changes the stored record itself, as no verb does; with `from` only where it still is in that state. */
  async tamper(approvalId: string, changes: Partial<ApprovalRecord>, from?: ApprovalRecord['state']): Promise<void> {
    await changeRecord(
      this.cluster.ledger.approvals,
      approvalKey(ADA.tenant, approvalId),
      (record) => (record && (from ?? record.state) === record.state ? { ...record, ...changes } : undefined),
      { clock: systemClock },
    );
  }

  /** How often the truth log says that it happened. */
  times(identity: string): number {
    return this.cluster.truth(identity).length;
  }

  ended(callId: string) {
    return this.cluster.waitForState(callId, ['ok', 'error', 'denied', 'expired', 'cancelled', 'unknown']);
  }

  stop(): Promise<void> {
    return this.cluster.stop();
  }
}
