/** A whole answer with status 200 that can be asked about again. */
export interface StoredAnswer {
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer;
}

export interface CacheLimits {
  /** Bytes of bodies of one tenant. */
  readonly tenantBytes: number;
  /** Answers of one tenant. */
  readonly tenantEntries: number;
  readonly tenants: number;
  /** Larger bodies are not kept. */
  readonly entryBytes: number;
}

export const CACHE_LIMITS: CacheLimits = {
  tenantBytes: 16 * 1024 ** 2,
  tenantEntries: 256,
  tenants: 16,
  entryBytes: 4 * 1024 ** 2,
};

interface Shelf {
  readonly entries: Map<string, StoredAnswer>;
  bytes: number;
}

/** Moves to the end what was used last, so that the first is the one to go. */
const touch = <V>(map: Map<string, V>, key: string): V | undefined => {
  const value = map.get(key);
  if (value === undefined) return undefined;
  map.delete(key);
  map.set(key, value);
  return value;
};

const hasValidator = (headers: StoredAnswer['headers']): boolean =>
  headers['etag'] !== undefined || headers['last-modified'] !== undefined;

/** RFC 9111, 3: what may be kept, and is the same for whoever asks as this worker does. */
const mayKeep = (headers: StoredAnswer['headers']): boolean =>
  hasValidator(headers) &&
  !/(?:^|,)\s*no-store\s*(?:,|$)/i.test(headers['cache-control'] ?? '') &&
  !(headers['vary'] ?? '').includes('*');

/**
 * Answers of earlier fetches, by tenant. Nothing of it is told before the other side has said that it is still good, so
 * that each fetch goes through the way out. Bounded by bytes and entries; what was used last stays.
 */
export class ResponseCache {
  readonly #limits: CacheLimits;
  readonly #shelves = new Map<string, Shelf>();

  constructor(limits: CacheLimits = CACHE_LIMITS) {
    this.#limits = limits;
  }

  get(tenant: string, address: string): StoredAnswer | undefined {
    const shelf = touch(this.#shelves, tenant);
    return shelf && touch(shelf.entries, address);
  }

  /** Takes the place of an earlier one, and takes that away where this one may not be kept. */
  put(tenant: string, address: string, answer: StoredAnswer): void {
    const shelf = this.#shelfOf(tenant);
    this.#drop(shelf, address);
    const { entryBytes, tenantBytes, tenantEntries } = this.#limits;
    if (!mayKeep(answer.headers) || answer.body.length > entryBytes) return;
    shelf.entries.set(address, answer);
    shelf.bytes += answer.body.length;
    while (shelf.bytes > tenantBytes || shelf.entries.size > tenantEntries) this.#drop(shelf, oldest(shelf.entries));
  }

  /** Bytes of all bodies. */
  get bytes(): number {
    return [...this.#shelves.values()].reduce((sum, { bytes }) => sum + bytes, 0);
  }

  #shelfOf(tenant: string): Shelf {
    const known = touch(this.#shelves, tenant);
    if (known !== undefined) return known;
    const shelf: Shelf = { entries: new Map(), bytes: 0 };
    this.#shelves.set(tenant, shelf);
    if (this.#shelves.size > this.#limits.tenants) this.#shelves.delete(oldest(this.#shelves));
    return shelf;
  }

  #drop(shelf: Shelf, address: string): void {
    shelf.bytes -= shelf.entries.get(address)?.body.length ?? 0;
    shelf.entries.delete(address);
  }
}

const oldest = (map: Map<string, unknown>): string => map.keys().next().value ?? '';

/** Asks whether a copy is still good. */
export const conditionsOf = ({ headers }: StoredAnswer): Record<string, string> => {
  const { etag, 'last-modified': modified } = headers;
  if (etag !== undefined) return { 'if-none-match': etag };
  return modified === undefined ? {} : { 'if-modified-since': modified };
};
