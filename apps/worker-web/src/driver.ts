import { PageReader, type ReaderOptions } from './content/page-reader.ts';
import { FETCH_LIMITS, type FetchLimits } from './fetch/fetch-limits.ts';
import { CACHE_LIMITS, ResponseCache } from './fetch/response-cache.ts';
import { RobotsBook } from './robots/robots-book.ts';
import { LocalIndex } from './search/local/local-index.ts';

export interface DriverOptions {
  /** How this worker calls itself to sites; robots.txt knows it by the part before the first `/`. */
  readonly agent: string;
  /** Whether sites may forbid addresses to it by their robots.txt. */
  readonly obeysRobots: boolean;
  /** Bytes of answers that are kept for each tenant. */
  readonly cacheBytes: number;
  /** Pages that are read at once. */
  readonly threads: number;
  /** Holds a folder for each tenant that `web.search` looks through. */
  readonly searchFolder?: string;
  readonly limits?: Partial<FetchLimits>;
  readonly reader?: Partial<ReaderOptions>;
  /** Milliseconds on a clock that never goes back. */
  now(): number;
}

/** What the tools of this worker share; nothing of it is shared between tenants. */
export interface Driver {
  readonly agent: string;
  readonly limits: FetchLimits;
  /** None where robots.txt is not looked at. */
  readonly robots: RobotsBook | undefined;
  readonly cache: ResponseCache;
  readonly reader: PageReader;
  /** None where there is no folder to search. */
  readonly localIndex: LocalIndex | undefined;
  /** Ends the threads. */
  close(): void;
}

export const createDriver = ({ agent, obeysRobots, now, ...options }: DriverOptions): Driver => {
  const reader = new PageReader({ ...options.reader, threads: options.threads });
  const { searchFolder: folder } = options;
  const localIndex = folder === undefined ? undefined : new LocalIndex({ folder });
  return {
    agent,
    limits: { ...FETCH_LIMITS, ...options.limits },
    robots: obeysRobots ? new RobotsBook(agent.split('/', 1)[0] ?? agent, now) : undefined,
    cache: new ResponseCache({
      ...CACHE_LIMITS,
      tenantBytes: options.cacheBytes,
      entryBytes: Math.min(CACHE_LIMITS.entryBytes, options.cacheBytes),
    }),
    reader,
    localIndex,
    close: () => {
      reader.close();
      localIndex?.close();
    },
  };
};
