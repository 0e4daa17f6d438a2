import { Claim, type DeadLetter, LifeSign, PinLease, type ProgressNotice } from '@toolfabric/contract';
import { QueueFull, StoreUnavailable, type WorkerPorts } from '@toolfabric/ports';
import { storeMessage, textOf } from './answers.ts';
import { claimFamily } from './bucket-families.ts';
import { type BusConfig, type BusConnection, withConnection } from './bus-connection.ts';
import { createEventLog } from './event-log.ts';
import { HopSeals, type Seal } from './hop-seal.ts';
import { type BusLink, openLink } from './link.ts';
import { oneBucket, RecordStore } from './record-store.ts';
import { createResults } from './results.ts';
import {
  bellPlace,
  deadSubject,
  everyControlSubject,
  GATEWAY_USER,
  IMPORTED_API,
  lifeBucket,
  noticePlace,
  progressSubject,
  ROUTER_USER,
  TRACE_USER,
  workerUser,
} from './subjects.ts';
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

const createProgress = (link: BusLink, seal: Seal, kind: string): WorkerPorts['progress'] => {
  let seq = 0;
  return (tenant, callId, message, fraction) => {
    seq += 1;
    const notice: ProgressNotice = {
      callId,
      seq,
      message: message.slice(0, 1000),
      ...(fraction === undefined ? {} : { fraction: Math.min(1, Math.max(0, fraction)) }),
    };
    const subject = progressSubject(kind, tenant, callId);
    link.publish(subject, seal.close(noticePlace(subject), JSON.stringify(notice)));
  };
};

export const connectWorker = async (config: BusConfig, kind: string): Promise<WorkerBus> => {
  const user = workerUser(kind);
  const hops = new HopSeals({ ...config, user });
  const router = hops.with(ROUTER_USER);
  const gateway = hops.with(GATEWAY_USER);
  const trace = hops.with(TRACE_USER);
  const sealed = { hops, seal: router };
  const link = await openLink({ ...config, user });
  const ports: WorkerPorts = {
    claims: new RecordStore(link, IMPORTED_API, claimFamily(kind), Claim, sealed),
    lives: new RecordStore(link, IMPORTED_API, oneBucket(lifeBucket(kind)), LifeSign, sealed),
    pins: new RecordStore(link, IMPORTED_API, oneBucket(lifeBucket(kind)), PinLease, sealed),
    results: createResults(link, IMPORTED_API, hops, () => router),
    source: createWorkSource(link, IMPORTED_API, user, kind),
    events: createEventLog(link, trace),
    deadLetter: createDeadLetters(link, kind),
    progress: createProgress(link, gateway, kind),
    onBell: (listener) => {
      link.subscribe(everyControlSubject(kind), ({ subject, data }) => {
        const rung = router.open(bellPlace(subject), data);
        if (rung === undefined) hops.refused('bell');
        else listener(textOf(rung));
      });
    },
  };
  return withConnection(link, hops, ports);
};
