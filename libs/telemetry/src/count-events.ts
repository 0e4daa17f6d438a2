import type { Metrics } from '@toolfabric/kernel';
import type { EventLog } from '@toolfabric/ports';

/** The same log; what is sent without a connection is lost, and counted as that. */
export const countEvents = (events: EventLog, isConnected: () => boolean, metrics: Metrics): EventLog => ({
  emit(event) {
    const name = isConnected() ? 'toolfabric_events_emitted_total' : 'toolfabric_events_dropped_total';
    metrics.count(name, { type: event.type });
    events.emit(event);
  },
  async store(event) {
    await events.store(event);
    metrics.count('toolfabric_events_emitted_total', { type: event.type });
  },
});
