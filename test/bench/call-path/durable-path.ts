import { connectLedger, connectWorker, type LedgerBus, type WorkerBus } from '@toolfabric/bus-nats';
import type { CallRecord, ResultMessage } from '@toolfabric/contract';
import { callIdFor, uuidv7 } from '@toolfabric/kernel';
import { callKey, openKey, workMessageId, workSubject } from '@toolfabric/ledger';
import type { Delivery } from '@toolfabric/ports';
import { BARE_KIND } from './bare-bus.ts';
import type { BarePoint } from './jobs.ts';

const ACTOR = { tenant: 'acme', user: 'ada', agent: 'bench' } as const;
const DECISION = { policyVersion: 'none', rule: 'none', limits: { timeoutMs: 10_000, outputBytes: 4096 } };

const recordOf = (callId: string, now: number): CallRecord => ({
  callId,
  actor: ACTOR,
  taskId: 't-bench',
  tool: { name: 'bench.noop', version: '1.0.0', digest: 'none' },
  handler: 'bench.noop',
  kind: BARE_KIND,
  priority: 'hi',
  effect: 'none',
  claim: 'none',
  rerunnable: true,
  args: {},
  argsHash: 'none',
  decision: DECISION,
  state: 'queued',
  epoch: 1,
  createdAt: now,
  deadline: now + 60_000,
});

interface Waiting {
  readonly call: CallRecord;
  readonly callRevision: number;
  readonly openRevision: number;
  answer(): void;
}

const jsonOf = (delivery: Delivery) => JSON.parse(Buffer.from(delivery.data).toString('utf8'));

/**
 * The stored steps of a claimless call and nothing else, all in this process: OPEN and call, work, result, terminal
 * state, terminal event, OPEN removed. No gRPC, no checks, no policy, no signature.
 */
export class DurablePath {
  readonly #ledger: LedgerBus;
  readonly #waiting = new Map<string, Waiting>();

  private constructor(ledger: LedgerBus, worker: WorkerBus) {
    this.#ledger = ledger;
    const { signal } = new AbortController();
    void worker.source.run(8, (delivery) => this.#work(worker, delivery), signal);
    void ledger.resultFeed(BARE_KIND).run(256, (delivery) => this.#settle(delivery), signal);
  }

  static async open({ url, seeds, publicKeys }: BarePoint): Promise<DurablePath> {
    const config = { servers: url, name: 'bench', publicKeys };
    return new DurablePath(
      await connectLedger({ ...config, nkeySeed: seeds.router }),
      await connectWorker({ ...config, nkeySeed: seeds.worker }, BARE_KIND),
    );
  }

  async call(): Promise<string> {
    const now = Date.now();
    const callId = callIdFor(ACTOR, uuidv7(now), now);
    const call = recordOf(callId, now);
    const [openRevision, callRevision] = await Promise.all([
      this.#ledger.open.create(openKey(ACTOR.tenant, callId), { callId, actor: ACTOR, openedAt: now }),
      this.#ledger.calls.create(callKey(ACTOR.tenant, callId), call),
    ]);
    const answered = new Promise<void>((answer) =>
      this.#waiting.set(callId, { call, callRevision, openRevision, answer }),
    );
    const subject = workSubject(BARE_KIND, 'hi', ACTOR.tenant);
    const body = Buffer.from(JSON.stringify(call), 'utf8');
    await this.#ledger.work.publish(BARE_KIND, subject, workMessageId(callId, 1), body);
    await answered;
    return callId;
  }

  async #work(worker: WorkerBus, delivery: Delivery): Promise<void> {
    const { callId } = jsonOf(delivery) as CallRecord;
    const outcome = { status: 'ok', summary: 'nothing', sideEffect: 'none', trust: 'trusted' } as const;
    await worker.results.createOnce(BARE_KIND, { callId, tenant: ACTOR.tenant, epoch: 1, outcome, by: 'bench' });
    delivery.ack();
  }

  async #settle(delivery: Delivery): Promise<void> {
    const { callId, outcome } = jsonOf(delivery) as ResultMessage;
    const waiting = this.#waiting.get(callId);
    this.#waiting.delete(callId);
    if (!waiting) return delivery.ack();
    const { call } = waiting;
    const settledAt = Date.now();
    const result = { ...outcome, callId, tool: { name: call.tool.name, version: call.tool.version }, attempt: 1 };
    const ended: CallRecord = { ...call, state: 'ok', settledAt, result };
    await this.#ledger.calls.update(callKey(ACTOR.tenant, callId), ended, waiting.callRevision);
    waiting.answer();
    const event = { id: `${callId}:settled.ok`, type: 'call.settled', service: 'router', attributes: {} } as const;
    await this.#ledger.events.store({ ...event, tenant: ACTOR.tenant, at: settledAt, callId });
    delivery.ack();
    await this.#ledger.open.remove(openKey(ACTOR.tenant, callId), waiting.openRevision);
  }
}
