import type { FabricEvent } from '@toolfabric/contract';
import type { EventLog } from '@toolfabric/ports';

/** For tests: an event log that keeps what it is given. */
export class EventList implements EventLog {
  readonly events: FabricEvent[] = [];

  emit(event: FabricEvent): void {
    this.events.push(event);
  }

  async store(event: FabricEvent): Promise<void> {
    this.events.push(event);
  }

  get spans() {
    return this.events.flatMap(({ spans = [] }) => spans);
  }
}
