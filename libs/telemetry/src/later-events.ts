import type { FabricEvent } from '@toolfabric/contract';
import type { EventLog } from '@toolfabric/ports';

/** Milliseconds that an event may wait for others. */
const LONGEST_WAIT_MS = 100;
/** Events that wait at most; the next one sends them all. */
const MOST_WAITING = 256;

export interface LaterEvents extends EventLog {
  /** Sends what waits; from now on nothing waits any more. */
  close(): void;
}

/**
 * The same log, with emitted events sent together, a moment later: each one by itself would be written, sent and stored
 * in the middle of the calls that it tells of. What must be stored is stored at once.
 */
export const laterEvents = (events: EventLog): LaterEvents => {
  let waiting: FabricEvent[] = [];
  let timer: NodeJS.Timeout | undefined;
  let closed = false;
  const send = () => {
    clearTimeout(timer);
    timer = undefined;
    const batch = waiting;
    waiting = [];
    for (const event of batch) events.emit(event);
  };
  return {
    emit(event) {
      if (waiting.push(event) >= MOST_WAITING || closed) send();
      else timer ??= setTimeout(send, LONGEST_WAIT_MS);
    },
    store: (event) => events.store(event),
    close() {
      closed = true;
      send();
    },
  };
};
