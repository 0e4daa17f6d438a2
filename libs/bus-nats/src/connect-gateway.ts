import { ProgressNotice, SettledNotice } from '@toolfabric/contract';
import { type GatewayPorts, RequestUnanswered } from '@toolfabric/ports';
import type { z } from 'zod';
import { textOf } from './answers.ts';
import { type BusConfig, type BusConnection, withConnection } from './bus-connection.ts';
import { createEventLog } from './event-log.ts';
import { type BusLink, openLink } from './link.ts';
import { callToken, checkedToken, RPC_PREFIX, TRACE_RPC_PREFIX } from './subjects.ts';

/** The gateway's whole side of the bus. */
export interface GatewayBus extends GatewayPorts, BusConnection {}

/** Lossy messages: one that cannot be read is dropped, since nobody may depend on it. */
const readNotice = <T>(schema: z.ZodType<T>, data: Uint8Array): T | undefined => {
  try {
    return schema.parse(JSON.parse(textOf(data)));
  } catch {
    return undefined;
  }
};

const ask = async (link: BusLink, subject: string, body: string, timeoutMs: number, otherwise: string) => {
  try {
    return textOf((await link.request(subject, body, undefined, timeoutMs)).data);
  } catch (error) {
    throw new RequestUnanswered(otherwise, { cause: error });
  }
};

export const connectGateway = async (config: BusConfig): Promise<GatewayBus> => {
  const link = await openLink({ ...config, user: 'gateway' });
  const ports: GatewayPorts = {
    request: (verb, body, timeoutMs) => ask(link, RPC_PREFIX + verb, body, timeoutMs, 'no router answered'),
    askTrace: (verb, body, timeoutMs) => ask(link, TRACE_RPC_PREFIX + verb, body, timeoutMs, 'no trace store answered'),
    onSettled(listener) {
      link.subscribe('settled.*.*', (message) => {
        const notice = readNotice(SettledNotice, message.data);
        if (notice !== undefined) listener(notice);
      });
    },
    watchProgress(tenant, callId, listener) {
      const subject = `progress.*.${checkedToken(tenant)}.${callToken(callId)}`;
      const subscription = link.subscribe(subject, (message) => {
        const notice = readNotice(ProgressNotice, message.data);
        if (notice !== undefined) listener(notice);
      });
      return () => subscription.unsubscribe();
    },
    events: createEventLog(link),
  };
  return withConnection(link, ports);
};
