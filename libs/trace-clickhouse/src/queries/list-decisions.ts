import type { TRACE_RPC, TraceDecision } from '@toolfabric/contract';
import { FabricError } from '@toolfabric/kernel';
import { z } from 'zod';
import type { Database, QueryParams } from '../database.ts';
import { MAX_ANSWER_BYTES, sizeOf } from './answer-size.ts';
import { ALIVE } from './row-shapes.ts';

type Request = z.output<(typeof TRACE_RPC)['listDecisions']['request']>;
type Reply = z.output<(typeof TRACE_RPC)['listDecisions']['reply']>;

const Found = z.object({
  event_id: z.string(),
  call_id: z.string(),
  at: z.number(),
  sha256: z.string(),
  cut: z.boolean(),
});
type Found = z.infer<typeof Found>;

const Text = z.object({ sha256: z.string(), text: z.string() });

const AFTER = /^(\d{1,16}),([A-Za-z0-9:._-]{1,200})$/;

const parseAfter = (after: string): QueryParams => {
  const parts = AFTER.exec(after);
  if (parts === null) throw new FabricError('invalid_request', '`after` is not the end of a page');
  return { afterTime: Number(parts[1]), afterEvent: parts[2] ?? '' };
};

/** Conditions are constants; only values come from the request, as parameters. */
const filtersOf = ({ callId, since, until, after }: Request): { conditions: string[]; params: QueryParams } => {
  const given: [unknown, string, QueryParams][] = [
    [callId, 'call_id = {call:String}', { call: callId ?? '' }],
    [since, 'at >= {since:Int64}', { since: since ?? 0 }],
    [until, 'at < {until:Int64}', { until: until ?? 0 }],
    [after, '(at, event_id) < ({afterTime:Int64}, {afterEvent:String})', after === undefined ? {} : parseAfter(after)],
  ];
  const used = given.filter(([value]) => value !== undefined);
  return {
    conditions: used.map(([, condition]) => condition),
    params: Object.assign({}, ...used.map(([, , params]) => params)) as QueryParams,
  };
};

/** The router alone tells what was decided: an event of that kind from anybody else is none. */
const findPage = (database: Database, request: Request): Promise<Found[]> => {
  const { conditions, params } = filtersOf(request);
  const where = ['tenant = {tenant:String}', ALIVE, ...conditions].join(' AND ');
  return database.rows(
    Found,
    `SELECT event_id, call_id, at, payloads.sha256[indexOf(payloads.kind, 'policy_input')] AS sha256,
       payloads.cut[indexOf(payloads.kind, 'policy_input')] AS cut
     FROM {db}.events
     WHERE ${where} AND type = 'call.payloads' AND service = 'router' AND has(payloads.kind, 'policy_input')
     ORDER BY at DESC, event_id DESC LIMIT 1 BY event_id LIMIT {most:UInt32}`,
    { ...params, tenant: request.tenant, most: request.limit + 1 },
  );
};

const textsOf = async (database: Database, tenant: string, found: readonly Found[]): Promise<Map<string, string>> => {
  const hashes = [...new Set(found.map(({ sha256 }) => sha256))];
  const rows = await database.rows(
    Text,
    `SELECT sha256, text FROM {db}.payloads
     WHERE tenant = {tenant:String} AND ${ALIVE} AND sha256 IN {hashes:Array(String)}
     ORDER BY sha256 LIMIT 1 BY sha256`,
    { tenant, hashes },
  );
  return new Map(rows.map(({ sha256, text }) => [sha256, text]));
};

/**
 * What the decisions of a whole tenant were made of, redacted, the newest first. Of the calls themselves nothing else is
 * told. One whose text is gone is left out. A page holds as many as one message of the bus takes, at least one.
 */
export const listDecisions = async (database: Database, request: Request): Promise<Reply> => {
  const found = await findPage(database, request);
  if (found.length === 0) return { decisions: [] };
  const texts = await textsOf(database, request.tenant, found);
  const decisions: TraceDecision[] = [];
  let bytes = 0;
  let last: Found | undefined;
  for (const one of found.slice(0, request.limit)) {
    const { call_id: callId, at, sha256, cut } = one;
    const text = texts.get(sha256);
    const decision = text === undefined ? undefined : { callId, at, text, cut };
    bytes += decision === undefined ? 0 : sizeOf(decision);
    if (bytes > MAX_ANSWER_BYTES && decisions.length > 0) break;
    if (decision !== undefined) decisions.push(decision);
    last = one;
  }
  const isEnd = last === undefined || last === found.at(-1);
  return isEnd ? { decisions } : { decisions, next: `${last?.at},${last?.event_id}` };
};
