/** What the coordinator asks of a load process, and what it gets back. Both are our own processes. */
export interface CallerActor {
  readonly token: string;
  readonly taskId: string;
}

/** One fabric as a caller sees it. */
export interface FabricPoint {
  readonly address: string;
  readonly actors: readonly CallerActor[];
}

/** The bare bus server; `open` may use every subject. */
export interface BarePoint {
  readonly url: string;
  readonly seeds: { readonly open: string; readonly router: string; readonly worker: string };
  /** By bus user. */
  readonly publicKeys: Readonly<Record<string, string>>;
}

export type FabricTool = 'truth.noop' | 'truth.append';

export type Target =
  | { readonly type: 'fabric'; readonly fabric: string; readonly tool: FabricTool; readonly actors: number }
  | { readonly type: 'request' | 'publish' | 'put' | 'durable' | 'spawn' };

export type Job =
  | { readonly type: 'open-fabric'; readonly fabric: string; readonly point: FabricPoint }
  | { readonly type: 'close-fabric'; readonly fabric: string }
  | { readonly type: 'open-bare'; readonly point: BarePoint }
  | { readonly type: 'answer-requests'; readonly point: BarePoint }
  | { readonly type: 'load'; readonly target: Target; readonly load: Load };

export interface Load {
  readonly callers: number;
  /** No new call begins after so many milliseconds, or after so many calls. */
  readonly ms: number;
  readonly calls?: number;
  readonly stamped?: boolean;
}

/** When a call began and was answered, on the machine's monotonic clock, in milliseconds. */
export interface Stamp {
  readonly callId: string;
  readonly began: number;
  readonly answered: number;
}

export interface LoadResult {
  /** Milliseconds of each call. */
  readonly latencies: readonly number[];
  readonly elapsedMs: number;
  /** Calls that did not end `ok`, by what they ended as. */
  readonly failed: Readonly<Record<string, number>>;
  readonly stamps: readonly Stamp[];
}

/** The same clock in every process of one machine, in milliseconds. */
export const machineNow = (): number => Number(process.hrtime.bigint()) / 1e6;
