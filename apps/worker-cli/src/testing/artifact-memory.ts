import { createHash, randomBytes } from 'node:crypto';
import type { ArtifactName, ArtifactSession, StoredArtifact } from '@toolfabric/ports';
import { StoreUnavailable } from '@toolfabric/ports';

export interface Kept {
  readonly id: string;
  readonly name: ArtifactName;
  readonly size: number;
  readonly sha256: string;
  /** The bytes, up to a bound. */
  readonly bytes: Buffer;
  readonly state: 'live' | 'complete';
}

const MOST_KEPT = 1024 * 1024;

/** A store of one call that keeps hashes, and the beginnings of what it was given. */
export class ArtifactMemory implements ArtifactSession {
  readonly kept: Kept[] = [];
  /** Set to make every call fail. */
  away = false;
  /** Set to take nothing, ever. */
  stuck = false;

  async put(name: ArtifactName, body: AsyncIterable<Uint8Array>, signal: AbortSignal): Promise<StoredArtifact> {
    if (this.away) throw new StoreUnavailable('away');
    if (this.stuck) await new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)));
    const hash = createHash('sha256');
    const parts: Buffer[] = [];
    let size = 0;
    for await (const bytes of body) {
      if (this.away) throw new StoreUnavailable('away');
      hash.update(bytes);
      if (size < MOST_KEPT) parts.push(Buffer.from(bytes));
      size += bytes.length;
    }
    const stored = { id: this.#id(), size, sha256: hash.digest('hex') };
    this.kept.push({ ...stored, name, bytes: Buffer.concat(parts), state: 'complete' });
    return stored;
  }

  openLog: ArtifactSession['openLog'] = async (name) => {
    if (this.away) throw new StoreUnavailable('away');
    const id = this.#id();
    const parts: Buffer[] = [];
    const size = () => parts.reduce((sum, part) => sum + part.length, 0);
    const index = this.kept.push({ id, name, size: 0, sha256: '', bytes: Buffer.alloc(0), state: 'live' }) - 1;
    const keep = (state: Kept['state']) => {
      const bytes = Buffer.concat(parts);
      const sha256 = createHash('sha256').update(bytes).digest('hex');
      this.kept[index] = { id, name, size: size(), sha256, bytes, state };
    };
    return {
      id,
      append: async (bytes) => {
        if (this.away) throw new StoreUnavailable('away');
        parts.push(Buffer.from(bytes));
        keep('live');
      },
      skip: () => {},
      close: async () => {
        keep('complete');
        return { id, size: size(), sha256: this.kept[index]?.sha256 ?? '' };
      },
    };
  };

  read: ArtifactSession['read'] = () => {
    throw new Error('nobody reads here');
  };
  head: ArtifactSession['head'] = async () => ({ workspace: '', tenant: 'acme', generation: 0 });
  moveHead: ArtifactSession['moveHead'] = async () => ({ workspace: '', tenant: 'acme', generation: 1 });

  named(name: string): Kept | undefined {
    return this.kept.find((one) => one.name.name === name);
  }

  #id(): string {
    return `a-${randomBytes(13).toString('hex')}`;
  }
}
