import { readFile } from 'node:fs/promises';
import { Server, ServerCredentials, type ServerOptions } from '@grpc/grpc-js';
import {
  type ApprovalServiceServer,
  ApprovalServiceService,
  type ArtifactServiceServer,
  ArtifactServiceService,
  type CredentialServiceServer,
  CredentialServiceService,
  type RegistryServiceServer,
  RegistryServiceService,
  type ToolServiceServer,
  ToolServiceService,
  type TraceServiceServer,
  TraceServiceService,
  type UnknownServiceServer,
  UnknownServiceService,
} from '@toolfabric/proto';
import type { ListenConfig } from '@toolfabric/service-host';
import { withReadableRequests } from './readable-requests.ts';

const optionsOf = (messageBytes: number): ServerOptions => ({
  'grpc.max_receive_message_length': messageBytes,
  'grpc.max_concurrent_streams': 1_024,
  'grpc.keepalive_time_ms': 30_000,
  'grpc.keepalive_timeout_ms': 10_000,
  'grpc.enable_channelz': 0,
});

export interface Services {
  readonly tools: ToolServiceServer;
  readonly registry: RegistryServiceServer;
  readonly artifacts: ArtifactServiceServer;
  readonly traces: TraceServiceServer;
  readonly approvals: ApprovalServiceServer;
  readonly unknown: UnknownServiceServer;
  readonly credentials: CredentialServiceServer;
}

export const createGrpcServer = (
  { tools, registry, artifacts, traces, approvals, unknown, credentials }: Services,
  messageBytes: number,
): Server => {
  const server = new Server(optionsOf(messageBytes));
  server.addService(withReadableRequests(ToolServiceService), tools);
  server.addService(withReadableRequests(RegistryServiceService), registry);
  server.addService(withReadableRequests(ArtifactServiceService), artifacts);
  server.addService(withReadableRequests(TraceServiceService), traces);
  server.addService(withReadableRequests(UnknownServiceService), unknown);
  server.addService(withReadableRequests(ApprovalServiceService), approvals);
  server.addService(withReadableRequests(CredentialServiceService), credentials);
  return server;
};

/** As a URI names it: an IPv6 address in brackets. */
const hostOf = ({ host }: ListenConfig): string => (host.includes(':') ? `[${host}]` : host);

/** Begins to accept; resolves with `host:port`. Rejects when the port is taken or a PEM file cannot be used. */
export const bind = async (server: Server, listen: ListenConfig): Promise<string> => {
  const credentials = await credentialsOf(listen);
  const host = hostOf(listen);
  return new Promise((resolve, reject) => {
    server.bindAsync(`${host}:${listen.port}`, credentials, (error, port) =>
      error ? reject(error) : resolve(`${host}:${port}`),
    );
  });
};

const credentialsOf = async ({ tls }: ListenConfig): Promise<ServerCredentials> => {
  if (tls === undefined) return ServerCredentials.createInsecure();
  const [cert_chain, private_key] = await Promise.all([readFile(tls.certFile), readFile(tls.keyFile)]);
  return ServerCredentials.createSsl(null, [{ cert_chain, private_key }]);
};

const AFTER_DRAIN_MS = 250;

/** Lets requests in flight end, for `ms` milliseconds at most; then breaks what is left. */
export const shutDown = (server: Server, address: string, ms: number): Promise<void> =>
  new Promise((resolve) => {
    // `forceShutdown` leaves connections open while channelz is off; `drain` breaks them.
    server.drain(address, ms);
    // A connection that never got as far as a session keeps the server from closing: it is not waited for.
    const timer = setTimeout(resolve, ms + AFTER_DRAIN_MS);
    server.tryShutdown(() => {
      clearTimeout(timer);
      resolve();
    });
  });
