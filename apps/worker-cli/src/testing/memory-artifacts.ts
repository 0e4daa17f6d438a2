import { createHash } from 'node:crypto';
import type { WorkspaceHead } from '@toolfabric/contract';
import { artifactIdFor, FabricError } from '@toolfabric/kernel';
import { type ArtifactSession, RevisionConflict, StoreUnavailable } from '@toolfabric/ports';

/** For tests of one process: the artifact store of one tenant in memory, which can be away, slow, or damaged. */
export class MemoryArtifacts {
  readonly bytes = new Map<string, Buffer>();
  readonly heads = new Map<string, { head: WorkspaceHead; movedBy: string }>();
  away = false;
  /** Moves of a head that are applied and never answered. */
  mute = 0;
  puts = 0;
  putBytes = 0;
  /** Called before a head is moved. */
  beforeMove: () => Promise<void> = async () => {};

  session(workspace: string, callId: string, epoch = 1): ArtifactSession {
    const check = () => {
      if (this.away) throw new StoreUnavailable('the store is away');
    };
    const headOf = (): WorkspaceHead => this.heads.get(workspace)?.head ?? { workspace, tenant: 'acme', generation: 0 };
    return {
      put: async ({ name }, body) => {
        check();
        const parts: Buffer[] = [];
        for await (const part of body) parts.push(Buffer.from(part));
        check();
        const all = Buffer.concat(parts);
        const id = artifactIdFor('acme', callId, epoch, name);
        const present = this.bytes.get(id);
        if (present && !present.equals(all)) throw new FabricError('conflict', 'other bytes stand there');
        this.bytes.set(id, all);
        this.puts += 1;
        this.putBytes += all.length;
        return { id, size: all.length, sha256: createHash('sha256').update(all).digest('hex') };
      },
      openLog: () => Promise.reject(new Error('no logs here')),
      read: (id, range) => this.#read(id, range?.from ?? 0, range?.to),
      head: async () => {
        check();
        return headOf();
      },
      moveHead: async (expected, manifest) => {
        await this.beforeMove();
        check();
        const present = headOf();
        const movedBy = `${callId}.${epoch}.${manifest ?? ''}`;
        if (present.generation === expected + 1 && this.heads.get(workspace)?.movedBy === movedBy) return present;
        if (present.generation !== expected) throw new RevisionConflict(`at ${present.generation}`);
        const kept = manifest ?? present.manifest;
        const head = {
          workspace,
          tenant: 'acme',
          generation: expected + 1,
          ...(kept === undefined ? {} : { manifest: kept }),
        };
        this.heads.set(workspace, { head, movedBy });
        if (this.mute > 0) {
          this.mute -= 1;
          throw new StoreUnavailable('the answer was lost');
        }
        return head;
      },
    };
  }

  async *#read(id: string, from: number, to: number | undefined): AsyncGenerator<Uint8Array> {
    if (this.away) throw new StoreUnavailable('the store is away');
    const all = this.bytes.get(id);
    if (all === undefined) throw new FabricError('not_found', 'there is no such artifact');
    for (let at = from; at < Math.min(to ?? all.length, all.length); at += 65_536) {
      yield all.subarray(at, Math.min(at + 65_536, to ?? all.length, all.length));
    }
  }
}
