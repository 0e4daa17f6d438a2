import type { TRACE_RPC, TraceCall } from '@toolfabric/contract';
import { FabricError } from '@toolfabric/kernel';
import { z } from 'zod';
import type { Database, QueryParams } from '../database.ts';
import { MAX_ANSWER_BYTES, sizeOf } from './answer-size.ts';
import { callView } from './call-view.ts';
import { ALIVE, CALL_COLUMNS, OWNED, ownerParams, StoredCall } from './row-shapes.ts';

type Request = z.output<(typeof TRACE_RPC)['listCalls']['request']>;
type Reply = z.output<(typeof TRACE_RPC)['listCalls']['reply']>;

const Found = z.object({ call_id: z.string(), settled_at: z.number(), version: z.number() });
type Found = z.infer<typeof Found>;

/** Rows that were not merged yet take places of the page; this many more are looked at. */
const SPARE = 20;

const AFTER = /^(\d{1,16}),([a-z0-9.-]{1,100})$/;

const parseAfter = (after: string): QueryParams => {
  const parts = AFTER.exec(after);
  if (parts === null) throw new FabricError('invalid_request', '`after` is not the end of a page');
  return { afterTime: Number(parts[1]), afterCall: parts[2] ?? '' };
};

/** Conditions are constants; only values come from the request, as parameters. */
const filtersOf = (request: Request): { conditions: string[]; params: QueryParams } => {
  const { taskId, tool, state, errorType, truncated, since, until, after } = request;
  const given: [unknown, string, QueryParams][] = [
    [taskId, 'task_id = {task:String}', { task: taskId ?? '' }],
    [tool, 'tool = {tool:String}', { tool: tool ?? '' }],
    [state, 'state = {state:String}', { state: state ?? '' }],
    [errorType, 'error_type = {error:String}', { error: errorType ?? '' }],
    [truncated, 'truncated = {truncated:UInt8}', { truncated: truncated === true ? 1 : 0 }],
    [since, 'settled_at >= {since:Int64}', { since: since ?? 0 }],
    [until, 'settled_at < {until:Int64}', { until: until ?? 0 }],
    [
      after,
      '(settled_at, call_id) < ({afterTime:Int64}, {afterCall:String})',
      after === undefined ? {} : parseAfter(after),
    ],
  ];
  const used = given.filter(([value]) => value !== undefined);
  return {
    conditions: used.map(([, condition]) => condition),
    params: Object.assign({}, ...used.map(([, , params]) => params)) as QueryParams,
  };
};

const findPage = (database: Database, request: Request, most: number): Promise<Found[]> => {
  const { conditions, params } = filtersOf(request);
  const where = [OWNED, ALIVE, ...conditions].join(' AND ');
  return database.rows(
    Found,
    `SELECT call_id, settled_at, version FROM {db}.calls WHERE ${where}
     ORDER BY settled_at DESC, call_id DESC LIMIT {most:UInt32}`,
    { ...params, ...ownerParams(request.actor), most },
  );
};

const newestRows = (database: Database, request: Request, ids: readonly string[]): Promise<StoredCall[]> =>
  database.rows(
    StoredCall,
    `SELECT ${CALL_COLUMNS} FROM {db}.calls WHERE ${OWNED} AND call_id IN {ids:Array(String)}
     ORDER BY call_id, version DESC LIMIT 1 BY call_id`,
    { ...ownerParams(request.actor), ids },
  );

const cursor = ({ settled_at, call_id }: { settled_at: number; call_id: string }): string => `${settled_at},${call_id}`;

/** As many as one message of the bus takes; at least one. */
const fitting = (calls: readonly TraceCall[]): TraceCall[] => {
  const kept: TraceCall[] = [];
  let bytes = 0;
  for (const call of calls) {
    bytes += sizeOf(call);
    if (bytes > MAX_ANSWER_BYTES && kept.length > 0) break;
    kept.push(call);
  }
  return kept;
};

/**
 * A page of the actor's own calls, the newest first. A row that a later one replaces is told only as the later one, at
 * its own place. A page may hold fewer than asked and still have a next one.
 */
export const listCalls = async (database: Database, request: Request): Promise<Reply> => {
  const most = request.limit * 2 + SPARE;
  const found = await findPage(database, request, most);
  if (found.length === 0) return { calls: [] };
  const newest = new Map(
    (await newestRows(database, request, [...new Set(found.map(({ call_id }) => call_id))])).map((row) => [
      row.call_id,
      row,
    ]),
  );
  const valid = new Map<string, StoredCall>();
  for (const { call_id, version } of found) {
    const row = newest.get(call_id);
    if (row !== undefined && row.version === version) valid.set(call_id, row);
  }
  const rows = [...valid.values()];
  const page = rows.slice(0, request.limit);
  const calls = fitting(page.map(callView));
  const last = page[calls.length - 1];
  if (calls.length < rows.length && last !== undefined) return { calls, next: cursor(last) };
  const end = found.at(-1);
  return found.length < most || end === undefined ? { calls } : { calls, next: cursor(end) };
};
