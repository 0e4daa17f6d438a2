import { FabricError } from '@toolfabric/kernel';
import type { ArchiveContext } from './archive-context.ts';
import type { ArchiveLimits } from './limits.ts';
import type { TenantIndex } from './tenant-index.ts';

export interface Spender {
  readonly callId: string;
  readonly epoch: number;
  /** Of the permit: bytes that all writes of the call may take. */
  readonly maxBytes: number;
  /** Of a snapshot, which only the tenant pays for. */
  readonly workspace?: string | undefined;
}

const quota = (message: string): FabricError => new FabricError('artifact_quota', message);

/** Room for one body, taken as its bytes come in: what is on its way counts like what is there. */
export class Reservation {
  readonly #index: TenantIndex;
  readonly #limits: ArchiveLimits;
  readonly #traffic: ArchiveContext['traffic'];
  readonly #spender: Spender;
  /** Reserved, of which `#taken` have come. */
  #bytes = 0;
  #taken = 0;
  #isOver = false;

  /** Throws `artifact_quota` when there is no room for one more artifact, `overloaded` with too many at one time. */
  constructor({ limits, traffic }: Pick<ArchiveContext, 'limits' | 'traffic'>, index: TenantIndex, spender: Spender) {
    this.#index = index;
    this.#limits = limits;
    this.#traffic = traffic;
    this.#spender = spender;
    if (index.uploads >= limits.tenantUploads || traffic.uploads >= limits.uploads) {
      throw new FabricError('overloaded', 'too many artifacts are being written', { retryAfterMs: 500 });
    }
    if (index.artifacts >= limits.tenantArtifacts) throw quota('the tenant has as many artifacts as it may have');
    const { artifacts } = index.shareOf(spender.callId, spender.epoch);
    if (spender.workspace === undefined && artifacts >= limits.callArtifacts) {
      throw quota('the call has as many artifacts as it may have');
    }
    index.uploads += 1;
    traffic.uploads += 1;
    index.reserved.artifacts += 1;
    this.#charge(0, 1);
  }

  /** Takes room for a whole body ahead, so that of many that come at one time some fit. Throws as `take` does. */
  announce(bytes: number): void {
    this.#reserve(bytes);
  }

  /** Throws `too_large` or `artifact_quota` when these bytes do not fit any more. */
  take(bytes: number): void {
    this.#taken += bytes;
    if (this.#taken > this.#bytes) this.#reserve(this.#taken - this.#bytes);
  }

  #reserve(bytes: number): void {
    const { artifactBytes, tenantBytes } = this.#limits;
    if (this.#bytes + bytes > artifactBytes) {
      throw new FabricError('too_large', `an artifact may have ${artifactBytes} bytes`, {
        hint: 'Store less, or split it.',
      });
    }
    const { callId, epoch, maxBytes, workspace } = this.#spender;
    if (workspace === undefined && this.#index.shareOf(callId, epoch).bytes + bytes > maxBytes) {
      throw quota(`the call may write ${maxBytes} bytes`);
    }
    if (this.#index.bytes + bytes > tenantBytes) throw quota('the store of the tenant is full');
    this.#bytes += bytes;
    this.#index.reserved.bytes += bytes;
    this.#charge(bytes, 0);
  }

  /** Gives everything back: what was kept is counted by its record from now on. */
  release(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#index.uploads -= 1;
    this.#traffic.uploads -= 1;
    this.#index.reserved.artifacts -= 1;
    this.#index.reserved.bytes -= this.#bytes;
    this.#charge(-this.#bytes, -1);
  }

  #charge(bytes: number, artifacts: number): void {
    const { callId, epoch, workspace } = this.#spender;
    this.#index.charge({ record: { callId }, epoch, workspace }, bytes, artifacts);
  }
}
