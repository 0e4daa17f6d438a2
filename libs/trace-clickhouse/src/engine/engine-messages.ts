/** What the parent and the process of the engine say to each other, over the channel between them. */
export type EngineRequest =
  | {
      readonly id: number;
      readonly op: 'query';
      readonly sql: string;
      readonly params: Readonly<Record<string, unknown>>;
    }
  | {
      readonly id: number;
      readonly op: 'insert';
      readonly table: string;
      readonly lines: string;
      readonly settings: Readonly<Record<string, string | number | boolean>>;
    }
  | { readonly op: 'close' };

export type EngineFailure = 'missing' | 'locked' | 'broken';

export type EngineReply =
  | { readonly type: 'opened'; readonly version: string }
  | { readonly type: 'failed'; readonly why: EngineFailure; readonly message: string }
  /** Bytes of memory that the process holds. */
  | { readonly type: 'memory'; readonly rss: number }
  | { readonly type: 'answer'; readonly id: number; readonly rss: number; readonly data: Uint8Array }
  | { readonly type: 'refusal'; readonly id: number; readonly rss: number; readonly message: string };

export interface EngineArguments {
  readonly directory: string;
  /** Bytes that the engine may use for all that it does; it refuses what would take more. */
  readonly memoryBytes: number;
  /** Name of the package. */
  readonly module: string;
  /** Priority of the process, from 0 to 19 (last); 0 when left out. */
  readonly niceness?: number;
}
