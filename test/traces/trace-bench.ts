import type { GatewayBus } from '@toolfabric/bus-nats';
import type { Actor, TraceCall, TraceVerb } from '@toolfabric/contract';
import { TRACE_RPC } from '@toolfabric/contract';
import { waitFor } from '@toolfabric/testkit';
import { z } from 'zod';

/** What `GET /status` of the trace writer tells, as far as tests look at it. */
const Status = z.looseObject({
  connected: z.boolean(),
  store: z.looseObject({
    state: z.string(),
    reason: z.string(),
    engine: z.looseObject({ pid: z.number(), rss: z.number(), starts: z.number() }).optional(),
  }),
  writer: z.looseObject({
    stored: z.number(),
    retries: z.number(),
    heldEvents: z.number(),
    heldBytes: z.number(),
  }),
  taken: z.looseObject({ invalid: z.record(z.string(), z.number()) }),
  lag: z.array(z.looseObject({ stream: z.string(), waiting: z.number(), unacknowledged: z.number() })),
});
export type TraceStatus = z.infer<typeof Status>;

export const statusAt = async (address: unknown): Promise<TraceStatus> => {
  const answer = await fetch(`http://${String(address)}/status`);
  return Status.parse(await answer.json());
};

export const pageStatus = async (address: unknown, path: string): Promise<number> =>
  (await fetch(`http://${String(address)}${path}`)).status;

/** Asks as the gateway does; throws with the type of the error when the store answers with one. */
export const ask = async <V extends TraceVerb>(gateway: GatewayBus, verb: V, question: object) => {
  const text = await gateway.askTrace(verb, JSON.stringify(question), 20_000);
  const answer = JSON.parse(text) as { ok?: unknown; error?: { type: string; message: string } };
  if (answer.error !== undefined) throw new Error(`${answer.error.type}: ${answer.error.message}`);
  return TRACE_RPC[verb].reply.parse(answer.ok) as z.output<(typeof TRACE_RPC)[V]['reply']>;
};

export const allCalls = async (gateway: GatewayBus, actor: Actor): Promise<TraceCall[]> => {
  const calls: TraceCall[] = [];
  let after: string | undefined;
  do {
    const page = await ask(gateway, 'listCalls', { actor, limit: 100, ...(after === undefined ? {} : { after }) });
    calls.push(...page.calls);
    after = page.next;
  } while (after !== undefined);
  return calls;
};

/** Waits until every event of the bus has become rows. */
export const caughtUp = (address: unknown, stored: number): Promise<TraceStatus> =>
  waitFor(
    async () => {
      const status = await statusAt(address);
      return status.writer.stored >= stored && status.writer.heldEvents === 0 ? status : undefined;
    },
    { timeoutMs: 60_000, everyMs: 100, what: `${stored} stored events` },
  );
