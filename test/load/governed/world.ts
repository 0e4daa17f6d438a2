import { mkdirSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { CORE_API, messageGetSubject, streamInfoSubject, workStream } from '@toolfabric/bus-nats';
import type { FabricClient } from '@toolfabric/client';
import { type Actor, type ApprovalRecord, type CallRecord, type Claim, Envelope, WorkBody } from '@toolfabric/contract';
import { approvalKey, callKey, claimKey } from '@toolfabric/ledger';
import { type SpawnedService, waitFor } from '@toolfabric/testkit';
import { z } from 'zod';
import type { Random } from '../../simulation/scheduler.ts';
import { type AppName, Cluster } from '../../support/cluster.ts';

export const TENANTS = ['acme', 'globex', 'initech'] as const;
const AGENTS = ['coder', 'tester'] as const;
/** What the narrow task of each agent may spend: so many calls. */
export const NARROW_SPEND = 15;

export interface Agent {
  readonly actor: Actor;
  readonly client: FabricClient;
  readonly taskId: string;
  readonly narrowTaskId: string;
}

/** Two who may answer what the agents of one tenant ask, and may not ask for themselves here. */
export interface People {
  readonly tenant: string;
  readonly clients: readonly [FabricClient, FabricClient];
}

const VICTIMS = {
  router: 2,
  gateway: 1,
  truth: 2,
  web: 2,
  egress: 1,
  tracker: 1,
  'trace-writer': 1,
  artifacts: 1,
} as const satisfies Partial<Record<AppName, number>>;
type Victim = keyof typeof VICTIMS;
/** Who is killed, as often as it stands here in every round. */
const ROUND = ['router', 'router', 'truth', 'web', 'egress', 'gateway', 'tracker', 'trace-writer', 'artifacts', 'nats'];
export const KILLED = [...new Set(ROUND)].sort();

const Info = z.looseObject({ state: z.looseObject({ first_seq: z.int(), last_seq: z.int(), messages: z.int() }) });
const Stored = z.looseObject({ message: z.looseObject({ seq: z.int(), data: z.string() }).optional() });

/** Every service a process of its own, some of them twice, under a policy and budgets, with agents and people. */
export class GovernedWorld {
  readonly cluster: Cluster;
  readonly agents: Agent[] = [];
  readonly people: People[] = [];
  readonly kills: Record<string, number> = {};
  readonly #random: Random;
  readonly #pools = new Map<Victim, SpawnedService[]>();
  /** Who ended by themselves, with the last lines of their logs. */
  readonly ended: string[] = [];
  #round: string[] = [];
  #policies = 0;
  #isOver = false;

  private constructor(cluster: Cluster, random: Random) {
    this.cluster = cluster;
    this.#random = random;
  }

  static async start(random: Random): Promise<GovernedWorld> {
    const world = new GovernedWorld(await Cluster.startWith([], { kinds: ['web'] }), random);
    await world.cluster.publishTracker();
    world.changePolicy();
    // Workers look for its authority when they start.
    await world.#spawn('egress');
    const victims = (Object.entries(VICTIMS) as [Victim, number][]).filter(([app]) => app !== 'egress');
    await Promise.all(victims.flatMap(([app, count]) => Array.from({ length: count }, () => world.#spawn(app))));
    await world.#meet();
    return world;
  }

  get #policyDir(): string {
    return join(this.cluster.directory, 'policy');
  }

  /** Another version each time; what it forbids stays the same. */
  changePolicy(): void {
    this.#policies += 1;
    const text = [
      '@id("no_forbidden")',
      'forbid (principal, action == Action::"truth.append", resource)',
      'when { context.args.identity like "forbidden-*" };',
      `@id("version_${this.#policies}")`,
      'forbid (principal, action == Action::"truth.append_blind", resource)',
      `when { context.args.identity == "version-${this.#policies}" };`,
    ].join('\n');
    for (const tenant of TENANTS) {
      const folder = join(this.#policyDir, 'tenants', tenant);
      mkdirSync(folder, { recursive: true });
      writeFileSync(join(folder, 'load.new'), text);
      renameSync(join(folder, 'load.new'), join(folder, 'load.cedar'));
    }
  }

  async #spawn(app: Victim): Promise<void> {
    const service = this.cluster.spawn(app, '', { TOOLFABRIC_POLICY_DIR: this.#policyDir });
    this.#pools.set(app, [...(this.#pools.get(app) ?? []), service]);
    void service.exited.then(() => this.#replace(app, service));
    await service.ready;
  }

  /** Who ends by itself is started again, as by a supervisor; who was killed is not in its pool any more. */
  async #replace(app: Victim, service: SpawnedService): Promise<void> {
    const pool = this.#pools.get(app) ?? [];
    const at = pool.indexOf(service);
    if (at === -1 || this.#isOver) return;
    pool.splice(at, 1);
    this.ended.push(`${app}: ${service.log.slice(-6).join(' ')}`);
    await this.#spawn(app).catch(() => {});
  }

  async stop(): Promise<void> {
    this.#isOver = true;
    await this.cluster.stop();
  }

  /**
   * One round of the provisioner, as there is one each hour: a server before 2.10 that was killed brings back what was
   * acknowledged. It removes nothing that is not; what lies above an acknowledgement that is still awaited stays for the
   * next round.
   */
  async tidy(): Promise<number> {
    return (await this.cluster.nats.connectAsProvisioner()).clearAcknowledged();
  }

  /** Everybody is known at the gateway, and every agent has its tasks. */
  async #meet(): Promise<void> {
    for (const tenant of TENANTS) {
      const rights = ['approvals:decide', 'approvals:strong'];
      const [grace, linus] = ['grace', 'linus'].map((user) => this.cluster.client({ tenant, user, rights }));
      this.people.push({ tenant, clients: [grace as FabricClient, linus as FabricClient] });
      for (const agent of AGENTS) {
        const client = this.cluster.client({ tenant, agent });
        const tools = async () => (await client.listTools()).tools.some(({ name }) => name === 'issue.comment');
        await waitFor(() => tools().catch(() => false), { timeoutMs: 20_000, what: `tools of ${tenant} ${agent}` });
        const wide = await client.createTask({ title: 'load', budget: { spend: 1_000_000 } });
        const narrow = await client.createTask({ title: 'narrow', budget: { spend: NARROW_SPEND } });
        const actor = { tenant, user: 'ada', agent };
        this.agents.push({ actor, client, taskId: wide.taskId, narrowTaskId: narrow.taskId });
      }
    }
  }

  get killed(): number {
    return Object.values(this.kills).reduce((sum, n) => sum + n, 0);
  }

  /** So many kills at once, and what was killed is back. Everybody's turn comes before anybody's second one. */
  async kill(count: number): Promise<void> {
    const names = Array.from({ length: count }, () => this.#next());
    await Promise.all(names.map((name) => this.#killOne(name)));
  }

  #next(): string {
    if (this.#round.length === 0) this.#round = [...ROUND];
    return this.#round.splice(this.#random.int(this.#round.length), 1)[0] ?? '';
  }

  async #killOne(name: string): Promise<void> {
    if (name === 'nats') {
      await this.cluster.nats.kill();
      this.#count(name);
      return this.cluster.nats.restart();
    }
    const app = name as Victim;
    const pool = this.#pools.get(app) ?? [];
    const service = pool.splice(this.#random.int(pool.length), 1)[0];
    service?.kill('SIGKILL');
    if ((await service?.exited)?.signal === 'SIGKILL') this.#count(name);
    // One that finds no bus at its start ends, and is started again.
    await this.#spawn(app).catch(() => {});
  }

  #count(name: string): void {
    this.kills[name] = (this.kills[name] ?? 0) + 1;
  }

  /** What stands in the queues: call and epoch of each message. */
  async queued(): Promise<{ tenant: string; callId: string; epoch: number }[]> {
    const [provisioner, router] = await Promise.all([
      this.cluster.nats.connectRaw('provisioner'),
      this.cluster.nats.connectRaw('router'),
    ]);
    const found = [];
    for (const kind of this.cluster.kinds) {
      const stream = workStream(kind);
      const { text } = await provisioner.request(streamInfoSubject(CORE_API, stream), '', 5_000);
      const { state } = Info.parse(JSON.parse(text));
      for (let seq = state.first_seq; state.messages > 0 && seq <= state.last_seq; ) {
        const query = JSON.stringify({ seq, next_by_subj: `work.${kind}.>` });
        const { message } = Stored.parse(
          JSON.parse((await router.request(messageGetSubject(CORE_API, stream), query, 5_000)).text),
        );
        if (message === undefined) break;
        const { body } = Envelope.parse(JSON.parse(Buffer.from(message.data, 'base64').toString('utf8')));
        const { tenant, callId, epoch } = WorkBody.parse(JSON.parse(body));
        found.push({ tenant, callId, epoch });
        seq = message.seq + 1;
      }
    }
    return found;
  }

  async call(tenant: string, callId: string): Promise<CallRecord | undefined> {
    return (await this.cluster.ledger.calls.get(callKey(tenant, callId)))?.value;
  }

  async claim({ kind, actor, callId }: CallRecord): Promise<Claim | undefined> {
    return (await this.cluster.ledger.claims(kind).get(claimKey(kind, actor.tenant, callId)))?.value;
  }

  async approval(tenant: string, approvalId: string): Promise<ApprovalRecord | undefined> {
    return (await this.cluster.ledger.approvals.get(approvalKey(tenant, approvalId)))?.value;
  }
}
