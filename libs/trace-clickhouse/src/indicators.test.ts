import type { FabricEvent } from '@toolfabric/contract';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import type { Database } from './database.ts';
import { insertRows } from './insert-rows.ts';
import { MIGRATIONS } from './migrations/index.ts';
import { migrateUp } from './migrations/migrate.ts';
import { rowsOf } from './rows/event-rows.ts';
import { ADA, callIdOf, plainEvent, settledEvent, temporaryDatabase } from './testing/index.ts';

let database: Database;
let end: () => Promise<void>;

const event = (n: number, type: FabricEvent['type'], attributes: FabricEvent['attributes']): FabricEvent => ({
  ...plainEvent(n, type),
  service: type === 'artifact.read' ? 'artifacts' : 'router',
  attributes,
});
const refused = (n: number, error: string) => event(n, 'call.refused', { error, turn: 2, tool: 'workspace.read_file' });

/** A small history of which every number below is counted by hand. */
const HISTORY: readonly FabricEvent[] = [
  settledEvent(1),
  settledEvent(2, { state: 'error', error: 'file_not_found' }),
  settledEvent(3, { repairs: callIdOf(2) }),
  settledEvent(4, { state: 'error', error: 'reported_failure', truncated: true }),
  settledEvent(5, { state: 'unknown', sideEffect: 'possible' }),
  settledEvent(6, { takenOver: true, artifacts: 1 }),
  refused(7, 'invalid_arguments'),
  refused(8, 'denied_by_policy'),
  event(6, 'artifact.read', { artifact: 'a', read: 'first', by: 'front' }),
  { ...event(6, 'artifact.read', { artifact: 'a', read: 'again', by: 'front' }), id: 'again' },
  {
    ...event(9, 'task.created', {}),
    taskId: 't-0123456789abcdefghjkmnpqrs',
    at: Date.now() - 1_000,
  },
  { ...event(9, 'task.ended', { outcome: 'succeeded' }), taskId: 't-0123456789abcdefghjkmnpqrs' },
];

beforeAll(async () => {
  ({ database, end } = await temporaryDatabase());
  await migrateUp(database, MIGRATIONS, { alone: true });
  await insertRows(
    database,
    HISTORY.map((one) => rowsOf(one, { days: 3, tenants: {} })),
  );
}, 60_000);
afterAll(() => end());

const count = async (what: string, from: string): Promise<number> => {
  const query = `SELECT toInt32(${what}) AS value FROM ${database.name}.${from} WHERE tenant = {tenant:String}`;
  return (await database.rows(z.object({ value: z.int() }), query, { tenant: ADA.tenant }))[0]?.value ?? Number.NaN;
};

describe('TR-2: what the indicators are made of is in columns', () => {
  it.each([
    [
      'calls, by tool, model and catalogue',
      "countIf(tool != '' AND model != '' AND catalogue_digest != '')",
      'calls',
      6,
    ],
    [
      'arguments refused at the first try',
      "countIf(type = 'call.refused' AND attributes['error'] = 'invalid_arguments')",
      'events',
      1,
    ],
    [
      'refusals of the policy',
      "countIf(type = 'call.refused' AND attributes['error'] = 'denied_by_policy')",
      'events',
      1,
    ],
    ['outcomes that are not known', "countIf(state = 'unknown')", 'calls', 1],
    ['effects that may have happened', "countIf(side_effect = 'possible')", 'calls', 1],
    ['outputs that were cut', 'countIf(truncated)', 'calls', 1],
    ['calls with artifacts', 'countIf(artifacts > 0)', 'calls', 1],
    ['artifacts that were read again', "countIf(type = 'artifact.read' AND attributes['read'] = 'again')", 'events', 1],
    ['tasks that succeeded', "countIf(outcome = 'succeeded')", 'tasks', 1],
    ['calls of a task', "countIf(task_id = 't-0123456789abcdefghjkmnpqrs')", 'calls', 6],
    ['errors', "countIf(state = 'error')", 'calls', 2],
    ['people who took over', 'countIf(taken_over)', 'calls', 1],
  ])('%s', async (_what, counted, table, expected) => {
    expect(await count(counted, table)).toBe(expected);
  });

  it('errors that a later call repaired', async () => {
    const { name } = database;
    const query = `SELECT toInt32(count()) AS value FROM ${name}.calls AS later
      INNER JOIN ${name}.calls AS earlier ON later.repairs = earlier.call_id AND later.tenant = earlier.tenant
      WHERE later.tenant = {tenant:String} AND earlier.state = 'error' AND later.state = 'ok'`;
    const [row] = await database.rows(z.object({ value: z.int() }), query, { tenant: ADA.tenant });
    expect(row?.value).toBe(1);
  });
});
