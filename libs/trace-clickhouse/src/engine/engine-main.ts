/**
 * The process that holds the native engine and owns the data directory. It does one thing at a time for inserts and
 * one for questions, and ends with its parent: what it acknowledged stands in the directory by then.
 */
import { createRequire } from 'node:module';
import { getPriority, setPriority } from 'node:os';
import type { EngineArguments, EngineFailure, EngineReply, EngineRequest } from './engine-messages.ts';

interface Session {
  queryAsync(sql: string, options: { format: string }): Promise<{ bytes(): Uint8Array }>;
  queryBindAsync(sql: string, params: object, options: { format: string }): Promise<{ bytes(): Uint8Array }>;
  insert(params: { table: string; values: Buffer; format: 'JSONEachRow'; settings: object }): Promise<unknown>;
  close(): void;
}
interface Engine {
  Session: new (path: string, options: { connectionArgs: readonly string[] }) => Session;
}

const MIB = 1024 * 1024;
const MEMORY_EVERY_MS = 500;

const send = (reply: EngineReply): void => {
  process.send?.(reply, undefined, {}, () => {});
};
const end = (): never => {
  // The engine may still compute in its own threads: an ordinary exit would wait for them.
  process.kill(process.pid, 'SIGKILL');
  return process.exit(1);
};
const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));

const fail = (why: EngineFailure, message: string): void => {
  process.send?.({ type: 'failed', why, message } satisfies EngineReply, undefined, {}, end);
};

const argumentsFor = (memoryBytes: number): string[] => [
  `--max_server_memory_usage=${memoryBytes}`,
  `--mark_cache_size=${16 * MIB}`,
  `--primary_index_cache_size=${16 * MIB}`,
  `--index_mark_cache_size=${4 * MIB}`,
];

const load = (module: string): Engine | undefined => {
  try {
    return createRequire(import.meta.url)(module) as Engine;
  } catch (error) {
    fail('missing', messageOf(error));
    return undefined;
  }
};

/** Two connections to the one engine, so that a question does not wait for an insert. */
const open = (engine: Engine, { directory, memoryBytes }: EngineArguments) => {
  try {
    const options = { connectionArgs: argumentsFor(memoryBytes) };
    return { writing: new engine.Session(directory, options), asking: new engine.Session(directory, options) };
  } catch (error) {
    fail('broken', messageOf(error));
    return undefined;
  }
};

const NO_BYTES = new Uint8Array(0);

const carryOut = async (
  sessions: NonNullable<ReturnType<typeof open>>,
  request: EngineRequest,
): Promise<Uint8Array> => {
  if (request.op === 'insert') {
    const { table, lines, settings } = request;
    await sessions.writing.insert({ table, values: Buffer.from(lines), format: 'JSONEachRow', settings });
    return NO_BYTES;
  }
  if (request.op !== 'query') return NO_BYTES;
  const { sql, params } = request;
  const format = { format: 'JSONEachRow' };
  const bound = Object.keys(params).length > 0;
  const { asking } = sessions;
  return (await (bound ? asking.queryBindAsync(sql, params, format) : asking.queryAsync(sql, format))).bytes();
};

/** Before the engine is loaded: its threads have the priority of the one that starts them. */
const yieldToOthers = (niceness = 0): void => {
  if (getPriority() < niceness) setPriority(niceness);
};

const serve = (given: EngineArguments): void => {
  yieldToOthers(given.niceness);
  const engine = load(given.module);
  const sessions = engine === undefined ? undefined : open(engine, given);
  if (engine === undefined || sessions === undefined) return;
  process.on('message', (request: EngineRequest) => {
    if (request.op === 'close') {
      for (const session of Object.values(sessions)) session.close();
      end();
      return;
    }
    const { id } = request;
    carryOut(sessions, request).then(
      (data) => send({ type: 'answer', id, rss: process.memoryUsage.rss(), data }),
      (error) => send({ type: 'refusal', id, rss: process.memoryUsage.rss(), message: messageOf(error) }),
    );
  });
  setInterval(() => send({ type: 'memory', rss: process.memoryUsage.rss() }), MEMORY_EVERY_MS);
  const told = sessions.asking.queryAsync('SELECT version()', { format: 'TabSeparated' });
  told.then(
    (answer) => send({ type: 'opened', version: Buffer.from(answer.bytes()).toString('utf8').trim() }),
    (error) => fail('broken', messageOf(error)),
  );
};

process.on('disconnect', end);
// The parent decides when this process ends: a signal to the whole group must not break what is being written.
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => {});
serve(JSON.parse(process.argv[2] ?? '{}') as EngineArguments);
