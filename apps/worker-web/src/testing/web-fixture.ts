import { createHash } from 'node:crypto';
import { noFaults, systemClock } from '@toolfabric/kernel';
import type { ArtifactSession, EgressSession } from '@toolfabric/ports';
import { plainRedactor, type ToolContext } from '@toolfabric/worker-runtime';
import { createDriver, type Driver, type DriverOptions } from '../driver.ts';
import { urlFetchTool } from '../tools/url-fetch.ts';
import { directSession } from './direct-session.ts';

export const openDriver = (over: Partial<DriverOptions> = {}): Driver =>
  createDriver({
    agent: 'Toolfabric/0.1',
    obeysRobots: false,
    cacheBytes: 1024 ** 2,
    threads: 1,
    now: () => performance.now(),
    ...over,
  });

/** Keeps what one call stores. */
export const keepCopies = (): { readonly kept: Map<string, Buffer>; readonly session: ArtifactSession } => {
  const kept = new Map<string, Buffer>();
  const refuse = () => Promise.reject(new Error('only copies are stored'));
  const put: ArtifactSession['put'] = async ({ name }, body) => {
    const parts: Uint8Array[] = [];
    for await (const part of body) parts.push(part);
    const bytes = Buffer.concat(parts);
    kept.set(name, bytes);
    return { id: `a-${name}`, size: bytes.length, sha256: createHash('sha256').update(bytes).digest('hex') };
  };
  const read = () => {
    throw new Error('only copies are stored');
  };
  return { kept, session: { put, openLog: refuse, read, head: refuse, moveHead: refuse } };
};

export interface CallOptions {
  readonly tenant?: string;
  readonly egress?: EgressSession;
  readonly artifacts?: ArtifactSession;
  readonly redactor?: ToolContext['redactor'];
  readonly signal?: AbortSignal;
  readonly timeoutMs?: number;
  readonly outputBytes?: number;
  readonly outputTokens?: number;
}

export const contextFor = (options: CallOptions = {}): ToolContext => ({
  callId: '2969-0123456789abcdefghjkmnpqrs',
  operationKey: 'op.fixture',
  epoch: 1,
  actor: { tenant: options.tenant ?? 'acme', user: 'u', agent: 'a' },
  taskId: 't-none',
  signal: options.signal ?? new AbortController().signal,
  clock: systemClock,
  limits: { timeoutMs: options.timeoutMs ?? 30_000, outputBytes: options.outputBytes ?? 40_000 },
  outputTokens: options.outputTokens,
  background: false,
  testCommand: undefined,
  options: {},
  egress: options.egress ?? directSession(),
  artifacts: options.artifacts,
  redactor: options.redactor ?? plainRedactor,
  workspace: undefined,
  faults: noFaults,
  progress: () => {},
  beginEffect: () => Promise.reject(new Error('a read has no effect')),
});

// biome-ignore lint/suspicious/noExplicitAny: a test looks at single fields of what is JSON for everybody.
export type FetchData = Record<string, any>;

/** Runs `url.fetch` as the runtime does: arguments parsed by the tool's own schema. */
export const callFetch = async (driver: Driver, args: Record<string, unknown>, options: CallOptions = {}) => {
  const tool = urlFetchTool(driver);
  const outcome = await tool.handle(contextFor(options), tool.args.parse(args));
  return { ...outcome, data: outcome.data as FetchData };
};
