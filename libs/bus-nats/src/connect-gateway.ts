import { ProgressNotice, SettledNotice } from '@toolfabric/contract';
import type { GatewayPorts } from '@toolfabric/ports';
import type { z } from 'zod';
import { textOf } from './answers.ts';
import { type Asked, askService } from './ask-service.ts';
import { type BusConfig, type BusConnection, withConnection } from './bus-connection.ts';
import { createEventLog } from './event-log.ts';
import { HopSeals, type Seal } from './hop-seal.ts';
import { openLink } from './link.ts';
import {
  callToken,
  checkedToken,
  EGRESS_RPC_PREFIX,
  EGRESS_USER,
  GATEWAY_USER,
  noticePlace,
  ROUTER_USER,
  RPC_PREFIX,
  TRACE_RPC_PREFIX,
  TRACE_USER,
  workerUser,
} from './subjects.ts';

/** The gateway's whole side of the bus. */
export interface GatewayBus extends GatewayPorts, BusConnection {}

interface Heard {
  readonly subject: string;
  readonly data: Uint8Array;
}

/** Lossy messages: one that cannot be read or believed is dropped, since nobody may depend on it. */
const readNotice = <T>(schema: z.ZodType<T>, hops: HopSeals, seal: Seal | undefined, heard: Heard): T | undefined => {
  const opened = seal?.open(noticePlace(heard.subject), heard.data);
  if (opened === undefined) {
    hops.refused('notice');
    return undefined;
  }
  try {
    return schema.parse(JSON.parse(textOf(opened)));
  } catch {
    return undefined;
  }
};

export const connectGateway = async (config: BusConfig): Promise<GatewayBus> => {
  const hops = new HopSeals({ ...config, user: GATEWAY_USER });
  const fromRouter = hops.with(ROUTER_USER);
  const toTrace = hops.with(TRACE_USER);
  const link = await openLink({ ...config, user: GATEWAY_USER });
  const router: Asked = { link, hops, peer: ROUTER_USER, otherwise: 'no router answered' };
  const trace: Asked = { link, hops, peer: TRACE_USER, otherwise: 'no trace store answered' };
  const egress: Asked = { link, hops, peer: EGRESS_USER, otherwise: 'no egress answered' };
  const ports: GatewayPorts = {
    request: (verb, body, timeoutMs) => askService(router, RPC_PREFIX + verb, body, timeoutMs),
    askTrace: (verb, body, timeoutMs) => askService(trace, TRACE_RPC_PREFIX + verb, body, timeoutMs),
    askEgress: (verb, body, timeoutMs) => askService(egress, EGRESS_RPC_PREFIX + verb, body, timeoutMs),
    onSettled(listener) {
      link.subscribe('settled.*.*', (message) => {
        const notice = readNotice(SettledNotice, hops, fromRouter, message);
        if (notice !== undefined) listener(notice);
      });
    },
    watchProgress(tenant, callId, listener) {
      const subject = `progress.*.${checkedToken(tenant)}.${callToken(callId)}`;
      const subscription = link.subscribe(subject, (message) => {
        const kind = message.subject.split('.')[1] ?? '';
        const notice = readNotice(ProgressNotice, hops, hops.of(workerUser(kind)), message);
        if (notice !== undefined) listener(notice);
      });
      return () => subscription.unsubscribe();
    },
    events: createEventLog(link, toTrace),
  };
  return withConnection(link, hops, ports);
};
