import type { LedgerBus } from '@toolfabric/bus-nats';
import { contractDigests } from '@toolfabric/catalogue';
import { type Actor, type CallView, isLastAnswer, type Outcome, type RpcRequest } from '@toolfabric/contract';
import { parseQuotas } from '@toolfabric/governance';
import { createVerifier, noFaults, PACES, silentLogger, systemClock, uuidv7 } from '@toolfabric/kernel';
import { approvalKey, changeRecord, toolKey } from '@toolfabric/ledger';
import type { EgressSession } from '@toolfabric/ports';
import { start } from '@toolfabric/router/start';
import type { RunningService } from '@toolfabric/service-host';
import { startNats, type TestNats, waitFor } from '@toolfabric/testkit';
import { defineTool, type RunningWorker, runWorker, type ToolContext } from '@toolfabric/worker-runtime';
import { z } from 'zod';
import { Front } from '../../../apps/router/src/testing/front.ts';
import { ADA } from '../../../apps/router/src/testing/sample-call.ts';
import { type SampleChanges, sampleContract } from '../../../apps/router/src/testing/sample-contract.ts';

type Args = Readonly<Record<string, unknown>>;

export interface WorldTool {
  readonly contract: SampleChanges & { readonly input?: object };
  readonly effect: 'none' | 'outside';
  readonly handle: (args: Args, ctx: ToolContext) => Promise<Partial<Outcome>>;
}

export interface WorldOptions {
  readonly tools: readonly WorldTool[];
  readonly routers?: number;
  readonly quotas?: unknown;
  readonly slots?: number;
  /** A folder of policies. */
  readonly policyDir?: string;
  /** The worker says that it has a way out; nothing of a test goes through it. */
  readonly goesOut?: boolean;
}

const refuse = () => Promise.reject(new Error('nothing of a test goes out'));
const NOWHERE: EgressSession = { request: refuse, proxy: refuse, close: () => Promise.resolve() };

/** Some routers and a worker around one real bus server, in this process, with tools of the test. */
export class RouterWorld {
  readonly nats: TestNats;
  readonly bus: LedgerBus;
  readonly routers: RunningService[] = [];
  readonly worker: RunningWorker;
  readonly front: Front;
  readonly #quotas: unknown;
  readonly #policyDir: string | undefined;

  private constructor(parts: {
    nats: TestNats;
    bus: LedgerBus;
    worker: RunningWorker;
    front: Front;
    quotas: unknown;
    policyDir: string | undefined;
  }) {
    this.nats = parts.nats;
    this.bus = parts.bus;
    this.worker = parts.worker;
    this.front = parts.front;
    this.#quotas = parts.quotas;
    this.#policyDir = parts.policyDir;
  }

  static async start({
    tools,
    routers = 1,
    quotas = {},
    slots = 8,
    policyDir,
    goesOut = false,
  }: WorldOptions): Promise<RouterWorld> {
    const nats = await startNats({ kinds: ['cli'] });
    const bus = await nats.connectAsRouter();
    for (const { contract: changes } of tools) {
      const { input, ...rest } = changes;
      const contract = {
        ...sampleContract(rest),
        ...(input === undefined ? {} : { input: input as Record<string, never> }),
      };
      const record = { contract, state: 'published' as const, ...contractDigests(contract) };
      await bus.registry.create(toolKey(contract.name, contract.version), record);
    }
    const worker = await runWorker({
      kind: 'cli',
      ports: await nats.connectAsWorker('cli'),
      tools: tools.map(({ contract, effect, handle }) =>
        defineTool({
          handler: contract.name ?? 'notes.find',
          effect,
          args: z.looseObject({}),
          handle: async (ctx, args): Promise<Outcome> => {
            if (effect === 'outside') await ctx.beginEffect({});
            const told = await handle(args, ctx);
            const sideEffect = effect === 'outside' ? 'confirmed' : 'none';
            return { status: 'ok', summary: 'done', sideEffect, trust: 'trusted', ...told };
          },
        }),
      ),
      verifier: createVerifier(nats.signing.publicKeys),
      pace: PACES.test,
      slots,
      isolation: ['process', 'namespace', 'container'],
      ...(goesOut ? { egress: { session: () => NOWHERE } } : {}),
      log: silentLogger,
    });
    const gateway = await nats.connectAsGateway();
    const front = new Front((verb, body) => gateway.request(verb as 'call', body, 20_000));
    const world = new RouterWorld({ nats, bus, worker, front, quotas, policyDir });
    for (let n = 0; n < routers; n += 1) await world.addRouter();
    return world;
  }

  async addRouter(): Promise<RunningService> {
    const { nats } = this;
    const router = await start(
      {
        bus: { servers: nats.url, nkeySeed: nats.seeds['router'] ?? '', publicKeys: nats.busKeys },
        signing: { kid: nats.signing.kid, privateKey: nats.signing.privateKey },
        kinds: ['cli'],
        tenancy: 'single',
        environment: 'development',
        quotas: parseQuotas(this.#quotas),
        ...(this.#policyDir === undefined ? {} : { policyDir: this.#policyDir }),
        pace: PACES.test,
        faults: noFaults,
        telemetry: { sampling: 0 },
      },
      silentLogger,
    );
    this.routers.push(router);
    return router;
  }

  async task(changes: Partial<RpcRequest<'createTask'>> = {}): Promise<string> {
    const request = { actor: ADA, requestKey: uuidv7(), title: 'a task', ...changes };
    return (await this.front.ask('createTask', request)).taskId;
  }

  /** The state and the type of the error of one call, as soon as it is answered the first time. */
  async tell(changes: Parameters<Front['call']>[0]): Promise<string> {
    const view = await this.front.call(changes);
    return view.result?.error?.type ?? view.state;
  }

  ended(callId: string, actor: Actor = ADA): Promise<CallView> {
    return waitFor(
      async () => {
        const view = await this.front.ask('getCall', { actor, callId });
        return isLastAnswer(view) ? view : undefined;
      },
      { timeoutMs: 20_000, what: `the end of ${callId}` },
    );
  }

  /** As a person would; who may is tried elsewhere. */
  async approve({ approvalId = '' }: CallView, tenant: string = ADA.tenant): Promise<void> {
    await changeRecord(
      this.bus.approvals,
      approvalKey(tenant, approvalId),
      (approval) => approval && { ...approval, state: 'granted' as const },
      { clock: systemClock },
    );
  }

  async stop(): Promise<void> {
    await Promise.all(this.routers.map((router) => router.stop()));
    await this.worker.stop();
    await this.nats.stop();
  }
}

export { ADA };
