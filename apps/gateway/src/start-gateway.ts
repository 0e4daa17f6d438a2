/**
 * Starts a gateway over any bus. The order of stopping:
 * S1 new requests are `unavailable`, and no connection is accepted;
 * S2 callers that wait get their handle, watchers are told to go elsewhere;
 * S3 requests in flight end, within the drain time; what is left is broken off.
 * The bus is closed afterwards by whoever opened it.
 */
import { type Clock, FabricError, type Logger, noTelemetry, type Telemetry } from '@toolfabric/kernel';
import type { ArtifactFront, GatewayPorts } from '@toolfabric/ports';
import { checkListen } from '@toolfabric/service-host';
import { createApprovalService } from './approval-service.ts';
import { ArtifactAccess } from './artifact-access.ts';
import { createArtifactService } from './artifact-service.ts';
import type { GatewayConfig } from './config.ts';
import { createCredentialService } from './credential-service.ts';
import { FrontDoor } from './front-door.ts';
import { bind, createGrpcServer, shutDown } from './grpc-server.ts';
import { Issuers } from './oidc/issuers.ts';
import { PendingCalls } from './pending-calls.ts';
import { createRegistryService } from './registry-service.ts';
import { RequestsPerToken } from './requests-per-token.ts';
import { RouterClient } from './router-client.ts';
import { TokenBook } from './tokens.ts';
import { createToolService, ownCall } from './tool-service.ts';
import { createTraceService } from './trace-service.ts';
import { createUnknownService } from './unknown-service.ts';
import { watchTokensFile } from './watch-tokens-file.ts';

export interface Gateway {
  /** `host:port` as it was bound. */
  readonly address: string;
  readonly isReady: () => boolean;
  stop(): Promise<void>;
}

/** Rejects when it may not or cannot listen, and without a valid token. */
export const startGateway = async (
  config: Omit<GatewayConfig, 'bus' | 'artifacts' | 'telemetry'>,
  ports: GatewayPorts,
  logger: Logger,
  clock: Clock,
  front?: ArtifactFront,
  telemetry: Telemetry = noTelemetry,
): Promise<Gateway> => {
  const { listen, pace, limits, faults } = config;
  checkListen(listen);
  const tokens = new TokenBook();
  const stopTokens = await watchTokensFile(config.tokensFile, tokens, logger);
  const router = new RouterClient(ports, clock, pace);
  const pending = pendingCallsOf(config, router);
  ports.onSettled((notice) => pending.onSettled(notice));
  telemetry.metrics.gauge('toolfabric_waiting_callers', {}, () => pending.size);
  const requests = new RequestsPerToken(limits.requestsPerToken);
  const issuers = config.issuers.length === 0 ? {} : { issuers: new Issuers(config.issuers, clock.now) };
  const identities = { tokens, now: clock.now, ...issuers };
  const door = new FrontDoor({ identities, requests, clock, logger, telemetry });
  const { metrics } = telemetry;
  const tools = createToolService({ door, router, pending, ports, clock, faults, pace, limits, metrics });
  const access = new ArtifactAccess(router, front, pace);
  const leaving = new AbortController();
  const services = {
    tools,
    registry: createRegistryService(door, router, pace),
    artifacts: createArtifactService({ door, access, clock, getCall: ownCall({ router, pace }, 'getCall') }),
    traces: createTraceService(door, ports, config.hasTraces),
    approvals: createApprovalService({ door, router, clock, pace, stopping: leaving.signal }),
    unknown: createUnknownService(door, router, pace),
    credentials: createCredentialService(door, ports),
  };
  const server = createGrpcServer(services, limits.messageBytes);
  const address = await bind(server, listen).catch((error) => {
    stopTokens();
    throw error;
  });
  let stopping: Promise<void> | undefined;
  const stop = async () => {
    door.stop(); // S1
    const shut = shutDown(server, address, pace.drainMs);
    leaving.abort(); // S2
    pending.drain();
    await shut; // S3
    stopTokens();
  };
  return {
    address,
    isReady: () => stopping === undefined,
    stop: () => (stopping ??= stop()),
  };
};

const pendingCallsOf = ({ pace, limits }: Pick<GatewayConfig, 'pace' | 'limits'>, router: RouterClient) =>
  new PendingCalls({
    pollMs: pace.waitPollMs,
    limit: limits.pendingCalls,
    async getCall(actor, callId) {
      try {
        const patience = { limitMs: pace.rpcAttemptMs, isGone: () => true };
        return await router.view('getCall', JSON.stringify({ actor, callId }), patience);
      } catch (thrown) {
        if (thrown instanceof FabricError && thrown.type === 'unavailable') return undefined;
        throw thrown;
      }
    },
  });
