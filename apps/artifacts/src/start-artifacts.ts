/**
 * Starts the artifact store over any event log. The order of stopping:
 * S1 new requests are `unavailable`, and no connection is accepted;
 * S2 requests in flight end, within the drain time; what is left is broken off, and cannot be read;
 * S3 sweeping ends, and what broken requests were about to store; the store is let go.
 */
import { type Clock, createVerifier, type Logger, noTelemetry, type Telemetry } from '@toolfabric/kernel';
import type { EventLog } from '@toolfabric/ports';
import { openArchive } from './archive/open-archive.ts';
import type { ArtifactsConfig } from './config.ts';
import { createHandler, type HandlerContext } from './http/handle-request.ts';
import { startHttpServer } from './http/start-http-server.ts';
import { PATIENCE, type Patience } from './http/stream-body.ts';
import { RequestWatch } from './http/watch-request.ts';
import type { ByteStore } from './store/byte-store.ts';
import { openStore } from './store/open-store.ts';

export interface ArtifactsServer {
  readonly address: string;
  readonly isReady: () => boolean;
  /** Resolves when the store may not be used any more. */
  readonly lost: Promise<string>;
  stop(): Promise<void>;
}

export type ServerConfig = Omit<ArtifactsConfig, 'bus' | 'telemetry' | 'healthPort' | 'healthHost'>;

export const startArtifacts = async (
  config: ServerConfig,
  events: EventLog,
  logger: Logger,
  clock: Clock,
  patience: Patience = PATIENCE,
  telemetry: Telemetry = noTelemetry,
): Promise<ArtifactsServer> => {
  const store = await openStore(config, logger, clock);
  return serveStore(store, config, events, logger, clock, patience, telemetry).catch(async (thrown: unknown) => {
    await store.close();
    throw thrown;
  });
};

const serveStore = async (
  store: ByteStore,
  { limits, sweepEveryMs, publicKeys, listen, pace }: ServerConfig,
  events: EventLog,
  logger: Logger,
  clock: Clock,
  patience: Patience,
  telemetry: Telemetry,
): Promise<ArtifactsServer> => {
  const verifier = createVerifier(publicKeys);
  const archive = await openArchive({ store, limits, clock, events, logger, sweepEveryMs });
  let isStopping = false;
  let isLost = false;
  void store.lost.then(() => {
    isLost = true;
  });
  const isReady = () => !isStopping && !isLost;
  const watch = new RequestWatch(telemetry);
  let closeIdle = () => {};
  const parts = { archive, clock, patience, verifier, logger, watch, isReady };
  const context: HandlerContext = { ...parts, closeIdle: () => closeIdle() };
  const server = await startHttpServer(
    listen,
    createHandler(context, false),
    createHandler(context, true),
    patience.headersMs,
  ).catch(async (thrown: unknown) => {
    await archive.stop();
    throw thrown;
  });
  closeIdle = server.closeIdle;
  let stopping: Promise<void> | undefined;
  const stop = async () => {
    isStopping = true; // S1
    await server.stop(pace.drainMs); // S2
    await archive.stop(); // S3
    await store.close();
  };
  return { address: server.address, isReady, lost: store.lost, stop: () => (stopping ??= stop()) };
};
