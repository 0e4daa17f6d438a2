import { createServer, type Server } from 'node:http';
import type { Socket } from 'node:net';
import { rootCertificates } from 'node:tls';
import type { EgressPermit } from '@toolfabric/contract';
import { type Clock, systemClock, type Verifier } from '@toolfabric/kernel';
import type { AttemptSink } from './attempts.ts';
import { type CredentialSource, noCredentials } from './credential-source.ts';
import { type Resolver, systemResolver } from './dial/resolve.ts';
import type { EgressContext } from './egress-context.ts';
import { listenOnSocket, type SocketConfig } from './http/listen-on-socket.ts';
import { handleOwn } from './http/permit-routes.ts';
import { writeRefusal } from './http/send-refusal.ts';
import type { EgressLimits } from './limits.ts';
import type { Revocation } from './permits/floors.ts';
import { type FloorSource, noFloors, PermitTable } from './permits/permit-table.ts';
import { handleConnect } from './proxy/handle-connect.ts';
import { handlePlain } from './proxy/handle-plain.ts';
import { TunnelServer } from './proxy/tunnel-server.ts';
import type { Pem } from './tls/create-authority.ts';
import { Leaves } from './tls/leaves.ts';

export interface EgressSettings {
  readonly socket: SocketConfig;
  readonly verifier: Verifier;
  readonly kinds: readonly string[];
  readonly limits: EgressLimits;
  /** Vouches to clients for hosts whose exchange is read; without it rules that need that are refused. */
  readonly authority?: Pem;
  /** Authorities (PEM) beside the usual ones that may vouch for hosts. */
  readonly extraCa?: readonly string[];
}

export interface EgressPorts {
  readonly attempts: AttemptSink;
  readonly clock?: Clock;
  readonly resolver?: Resolver;
  readonly credentials?: CredentialSource;
  readonly floors?: FloorSource;
}

export interface RunningEgress {
  /** Resolves once every connection of the call at or below the epoch is closed; later ones are refused (protocol 7). */
  revoke(revocation: Revocation): Promise<{ closed: number }>;
  /** Ends the connections that carry a credential, by permit and handle; resolves once they are closed. */
  closeCredential(fits: (permit: EgressPermit, handle: string) => boolean): Promise<{ closed: number }>;
  /** Permits that are held. */
  permits(): number;
  /** Closes everything and stops listening; resolves when nothing is left. */
  stop(): Promise<void>;
}

const openServer = (ctx: EgressContext): Server => {
  const { headerBytes, headMs, connections } = ctx.limits;
  const tunnels = new TunnelServer(ctx);
  const server = createServer(
    {
      insecureHTTPParser: false,
      maxHeaderSize: headerBytes,
      headersTimeout: headMs,
      requestTimeout: 0,
      keepAliveTimeout: headMs,
      connectionsCheckingInterval: Math.min(1_000, headMs),
    },
    (req, res) => void (req.url?.startsWith('/') ? handleOwn(ctx, req, res) : handlePlain(ctx, req, res)),
  );
  server.maxConnections = connections;
  server.maxHeadersCount = 0;
  server.on('connect', (req, socket, head) => void handleConnect(ctx, tunnels, req, socket as Socket, head));
  server.on('clientError', (_, socket) => writeRefusal(socket as Socket, 'request_malformed'));
  return server;
};

/** The egress on its socket. What it decides needs no bus: revocations and stored floors come in through ports. */
export const startEgress = async (settings: EgressSettings, ports: EgressPorts): Promise<RunningEgress> => {
  const clock = ports.clock ?? systemClock;
  const { limits, authority, verifier, kinds } = settings;
  const table = new PermitTable(limits, ports.floors ?? noFloors, clock);
  const server = openServer({
    table,
    verifier,
    kinds,
    limits,
    clock,
    attempts: ports.attempts,
    resolver: ports.resolver ?? systemResolver,
    credentials: ports.credentials ?? noCredentials,
    leaves: authority && (await Leaves.create(authority, limits, clock)),
    ca: [...rootCertificates, ...(settings.extraCa ?? [])],
  });
  await listenOnSocket(server, settings.socket);
  return {
    revoke: (revocation) => table.revoke(revocation),
    closeCredential: (fits) => table.closeCredential(fits),
    permits: () => table.size,
    stop: async () => {
      const closed = new Promise<void>((resolve) => server.close(() => resolve()));
      await table.stop();
      server.closeAllConnections();
      await closed;
    },
  };
};
