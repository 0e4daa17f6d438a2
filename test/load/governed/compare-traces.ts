import type { TraceCall } from '@toolfabric/contract';
import type { Judged } from './judge.ts';
import type { Agent, GovernedWorld } from './world.ts';

/** Every row of one agent, page by page; a store that is away is asked again by whoever asks. */
const rowsOf = async ({ client }: Agent): Promise<TraceCall[]> => {
  const rows: TraceCall[] = [];
  for (let after: string | undefined; ; ) {
    const page = await client.listCalls(
      { limit: 100, ...(after === undefined ? {} : { after }) },
      { timeoutMs: 20_000 },
    );
    rows.push(...page.calls);
    after = page.next;
    if (after === undefined) return rows;
  }
};

const differences = ({ callId, call }: Judged, rows: readonly TraceCall[]): string[] => {
  if (call === undefined) return [];
  const row = rows[0];
  if (row === undefined) return [`L2: ${callId} is ${call.state}, and has no row in the trace`];
  const told = [row.state, row.errorType, row.sideEffect];
  const kept = [call.state, call.result?.error?.type ?? '', call.result?.sideEffect];
  return [
    ...(rows.length > 1 ? [`L2: ${callId} has ${rows.length} rows in the trace`] : []),
    ...(String(told) === String(kept) ? [] : [`L2: ${callId} is ${kept} in the ledger, and ${told} in the trace`]),
  ];
};

/** What the ledger says of the calls and the trace store does not say: nothing, when both say the same. */
export const compareTraces = async (world: GovernedWorld, judged: readonly Judged[]): Promise<string[]> => {
  const rows: TraceCall[] = [];
  for (const agent of world.agents) rows.push(...(await rowsOf(agent)));
  const accepted = Map.groupBy(
    rows.filter(({ state }) => state !== 'refused'),
    ({ callId }) => callId,
  );
  const known = new Set(judged.filter(({ call }) => call !== undefined).map(({ callId }) => callId));
  const strangers = [...accepted.keys()].filter((callId) => !known.has(callId));
  return [
    ...judged.flatMap((one) => differences(one, accepted.get(one.callId) ?? [])),
    ...strangers.map((callId) => `L2: ${callId} stands in the trace, and has no record`),
  ];
};
