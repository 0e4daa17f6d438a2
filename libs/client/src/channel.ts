import { isIPv4 } from 'node:net';
import { type ChannelCredentials, type ClientOptions, credentials, Metadata } from '@grpc/grpc-js';
import { FabricError } from '@toolfabric/kernel';
import type { ConnectOptions } from './client-types.ts';

/** Reconnects soon after a gateway came back; retries are ours, because only ours keep the request key in sight. */
export const CHANNEL_OPTIONS: ClientOptions = {
  'grpc.initial_reconnect_backoff_ms': 100,
  'grpc.max_reconnect_backoff_ms': 2_000,
  'grpc.keepalive_time_ms': 30_000,
  'grpc.keepalive_timeout_ms': 10_000,
  'grpc.enable_retries': 0,
  'grpc.max_receive_message_length': 16 * 1024 * 1024,
  'grpc.use_local_subchannel_pool': 1,
  'grpc.enable_channelz': 0,
};

/** Throws `invalid_request` rather than send a token in the clear to another machine. */
export const channelCredentials = ({ address, tls, insecure }: ConnectOptions): ChannelCredentials => {
  if (tls !== undefined) return credentials.createSsl(bytes(tls.ca), bytes(tls.key), bytes(tls.cert));
  if (insecure || isLoopback(address)) return credentials.createInsecure();
  throw new FabricError('invalid_request', `a token is not sent to ${address} without TLS`, {
    hint: 'Give `tls`, or `insecure: true` where the network itself is trusted.',
  });
};

const bytes = (pem: string | undefined): Buffer | null => (pem === undefined ? null : Buffer.from(pem));

const isLoopback = (address: string): boolean => {
  const host = address.replace(/:\d+$/, '');
  return host === 'localhost' || host === '[::1]' || (isIPv4(host) && host.startsWith('127.'));
};

export const requestMetadata = (token: string, traceparent?: string): Metadata => {
  const metadata = new Metadata();
  metadata.set('authorization', `Bearer ${token}`);
  if (traceparent !== undefined) metadata.set('traceparent', traceparent);
  return metadata;
};
