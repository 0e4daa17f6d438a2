import type { Actor, FabricEvent } from '@toolfabric/contract';
import { type Clock, randomId } from '@toolfabric/kernel';
import type { EventLog } from '@toolfabric/ports';
import type { StoredRecord } from './stored-record.ts';

type Attributes = FabricEvent['attributes'];

/** What the store tells the trace. Losing an event never fails a request. */
export class ArtifactEvents {
  readonly #log: EventLog;
  readonly #clock: Clock;

  constructor(log: EventLog, clock: Clock) {
    this.#log = log;
    this.#clock = clock;
  }

  about(type: 'artifact.stored' | 'artifact.expired', { record }: StoredRecord, attributes: Attributes = {}): void {
    this.#emit(type, record.owner, {
      ...callOf(record),
      attributes: {
        artifact: record.id,
        bytes: record.size,
        dropped: record.dropped,
        trust: record.trust,
        ...attributes,
      },
    });
  }

  /** `actor` is who read; the call is that which wrote. */
  read({ record }: StoredRecord, actor: Actor, attributes: Attributes): void {
    this.#emit('artifact.read', actor, { ...callOf(record), attributes: { artifact: record.id, ...attributes } });
  }

  refused(actor: Actor, callId: string | undefined, attributes: Attributes): void {
    this.#emit('artifact.refused', actor, { ...(callId === undefined ? {} : { callId }), attributes });
  }

  #emit(type: FabricEvent['type'], actor: Actor, rest: Partial<FabricEvent> & { attributes: Attributes }): void {
    const { tenant } = actor;
    this.#log.emit({ id: randomId(), type, service: 'artifacts', tenant, at: this.#clock.now(), actor, ...rest });
  }
}

const callOf = ({ callId, taskId }: StoredRecord['record']): { callId: string; taskId: string } => ({ callId, taskId });
