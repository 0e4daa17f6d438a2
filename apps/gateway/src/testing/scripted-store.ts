import type { ArtifactRecord, Envelope } from '@toolfabric/contract';
import { FabricError } from '@toolfabric/kernel';
import { type ArtifactChange, type ArtifactFront, type ByteRange, StoreUnavailable } from '@toolfabric/ports';

/** The artifact store as far as a gateway can see it; who may do what is said by the permit's text. */
export class ScriptedStore implements ArtifactFront {
  readonly bytes = new Map<string, Buffer>();
  readonly records = new Map<string, ArtifactRecord>();
  readonly asked: { verb: string; permit: string; id?: string; change?: ArtifactChange; range?: ByteRange }[] = [];
  away = false;
  /** Bytes of one piece of a read. */
  pieceBytes = 1_000;
  /** Pieces that were asked for so far. */
  pulled = 0;
  /** Reads that have begun and not ended. */
  reading = 0;

  add(id: string, content: Buffer, more: Partial<ArtifactRecord> = {}): ArtifactRecord {
    const record: ArtifactRecord = {
      id,
      owner: { tenant: 'acme', user: 'alice', agent: 'coder' },
      ...{ taskId: 't-1', callId: 'c-1', name: 'out', mediaType: 'text/plain', size: content.length },
      ...{ state: 'complete' as const, dropped: 0, trust: 'untrusted' as const, pinned: false, sharedWith: [] },
      ...{ createdAt: 1, expiresAt: 2 },
      ...more,
    };
    this.bytes.set(id, content);
    this.records.set(id, record);
    return record;
  }

  async describe(permit: Envelope, id: string): Promise<ArtifactRecord> {
    this.asked.push({ verb: 'describe', permit: permit.body, id });
    return this.#known(id);
  }

  async *read(permit: Envelope, id: string, range: ByteRange | undefined): AsyncGenerator<Uint8Array> {
    this.asked.push({ verb: 'read', permit: permit.body, id, ...(range && { range }) });
    this.#known(id);
    const content = (this.bytes.get(id) ?? Buffer.alloc(0)).subarray(range?.from ?? 0, range?.to);
    this.reading += 1;
    try {
      for (let at = 0; at < content.length; at += this.pieceBytes) {
        this.pulled += 1;
        yield content.subarray(at, at + this.pieceBytes);
      }
    } finally {
      this.reading -= 1;
    }
  }

  async list(permit: Envelope): Promise<{ artifacts: ArtifactRecord[] }> {
    this.asked.push({ verb: 'list', permit: permit.body });
    return { artifacts: [...this.records.values()] };
  }

  async manage(permit: Envelope, id: string, change: ArtifactChange): Promise<ArtifactRecord | undefined> {
    this.asked.push({ verb: 'manage', permit: permit.body, id, change });
    const record = this.#known(id);
    return change.type === 'delete' ? undefined : record;
  }

  #known(id: string): ArtifactRecord {
    if (this.away) throw new StoreUnavailable('the store is away');
    const record = this.records.get(id);
    if (record === undefined) throw new FabricError('not_found', 'there is no such artifact');
    return record;
  }
}
