import { ProgressNotice, SettledNotice } from '@toolfabric/contract';
import { type GatewayPorts, RequestUnanswered } from '@toolfabric/ports';
import type { z } from 'zod';
import { textOf } from './answers.ts';
import { type BusConfig, type BusConnection, withConnection } from './bus-connection.ts';
import { createEventLog } from './event-log.ts';
import { openLink } from './link.ts';
import { callToken, checkedToken, RPC_PREFIX } from './subjects.ts';

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

export const connectGateway = async (config: BusConfig): Promise<GatewayBus> => {
  const link = await openLink({ ...config, user: 'gateway' });
  const ports: GatewayPorts = {
    async request(verb, body, timeoutMs) {
      try {
        return textOf((await link.request(RPC_PREFIX + verb, body, undefined, timeoutMs)).data);
      } catch (error) {
        throw new RequestUnanswered('no router answered', { cause: error });
      }
    },
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
