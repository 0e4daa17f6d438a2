import { Claim, type DeadLetter, LifeSign, PinLease, type ProgressNotice } from '@toolfabric/contract';
import { QueueFull, StoreUnavailable, type WorkerPorts } from '@toolfabric/ports';
import { storeMessage, textOf } from './answers.ts';
import { claimFamily } from './bucket-families.ts';
import { type BusConfig, type BusConnection, withConnection } from './bus-connection.ts';
import { createEventLog } from './event-log.ts';
import { type BusLink, openLink } from './link.ts';
import { oneBucket, RecordStore } from './record-store.ts';
import { createResults } from './results.ts';
import { deadSubject, everyControlSubject, IMPORTED_API, lifeBucket, progressSubject, workerUser } from './subjects.ts';
import { createWorkSource } from './work-source.ts';

/** A worker's whole side of the bus: its own kind, from an account without streams. */
export interface WorkerBus extends WorkerPorts, BusConnection {}

const createDeadLetters = (link: BusLink, kind: string) => async (tenant: string, letter: DeadLetter) => {
  try {
    await storeMessage(link, deadSubject(kind, tenant), JSON.stringify(letter));
  } catch (error) {
    throw error instanceof QueueFull ? new StoreUnavailable('the dead letters are full', { cause: error }) : error;
  }
};

const createProgress = (link: BusLink, kind: string): WorkerPorts['progress'] => {
  let seq = 0;
  return (tenant, callId, message, fraction) => {
    seq += 1;
    const notice: ProgressNotice = {
      callId,
      seq,
      message: message.slice(0, 1000),
      ...(fraction === undefined ? {} : { fraction: Math.min(1, Math.max(0, fraction)) }),
    };
    link.publish(progressSubject(kind, tenant, callId), JSON.stringify(notice));
  };
};

export const connectWorker = async (config: BusConfig, kind: string): Promise<WorkerBus> => {
  const user = workerUser(kind);
  const link = await openLink({ ...config, user });
  const ports: WorkerPorts = {
    claims: new RecordStore(link, IMPORTED_API, claimFamily(kind), Claim),
    lives: new RecordStore(link, IMPORTED_API, oneBucket(lifeBucket(kind)), LifeSign),
    pins: new RecordStore(link, IMPORTED_API, oneBucket(lifeBucket(kind)), PinLease),
    results: createResults(link, IMPORTED_API),
    source: createWorkSource(link, IMPORTED_API, user, kind),
    events: createEventLog(link),
    deadLetter: createDeadLetters(link, kind),
    progress: createProgress(link, kind),
    onBell: (listener) => {
      link.subscribe(everyControlSubject(kind), (message) => listener(textOf(message.data)));
    },
  };
  return withConnection(link, ports);
};
