import { ClickHouseLogLevel, createClient } from '@clickhouse/client';
import { z } from 'zod';
import type { EngineProbe } from './engine/probe-engine.ts';

export interface ServerAddress {
  readonly url: string;
  readonly username: string;
  readonly password: string;
}

const ANSWER_MS = 5_000;
const Version = z.array(z.object({ version: z.string() })).length(1);

/** Asks a server once who it is, as the trace writer would. Neither the address nor what the server says is told. */
export const probeServer = async ({ url, username, password }: ServerAddress): Promise<EngineProbe> => {
  const log = { level: ClickHouseLogLevel.OFF };
  const client = createClient({ url, username, password, request_timeout: ANSWER_MS, log });
  try {
    if (!(await client.ping()).success) return { works: false, reason: 'the ClickHouse server does not answer' };
    const answer = await client.query({ query: 'SELECT version() AS version', format: 'JSONEachRow' });
    return { works: true, version: Version.parse(await answer.json())[0]?.version ?? '' };
  } catch {
    return { works: false, reason: 'the ClickHouse server does not answer this user' };
  } finally {
    await client.close();
  }
};
