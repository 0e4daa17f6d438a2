import type { FolderHit, FolderQuery, LeftOutCounts } from './folder-index.ts';
import type { FolderLimits } from './folder-limits.ts';

/** What the thread is started with. */
export interface IndexSettings {
  readonly folder: string;
  readonly limits: FolderLimits;
}

export interface IndexRequest {
  readonly id: number;
  readonly tenant: string;
  readonly query: FolderQuery;
}

export interface IndexAnswer {
  readonly hits: readonly FolderHit[];
  readonly files: number;
  readonly leftOut: LeftOutCounts;
}

/** `beat`: it is still at work. `none`: this tenant has no folder. */
export type IndexReply =
  | { readonly beat: true }
  | { readonly id: number; readonly none: true }
  | { readonly id: number; readonly failed: true }
  | ({ readonly id: number } & IndexAnswer);
