import { readFileSync } from 'node:fs';
import { rootCertificates } from 'node:tls';
import { connectEgress, type EgressBus } from '@toolfabric/bus-nats';
import { CredentialRecord } from '@toolfabric/contract';
import { createVerifier, type Logger, randomId, systemClock } from '@toolfabric/kernel';
import { type RunningService, startHealth, tellRefusals } from '@toolfabric/service-host';
import { type RunningTelemetry, startTelemetry } from '@toolfabric/telemetry';
import { type Broker, openBroker } from './broker/open-broker.ts';
import { type TellChange, tellChanges } from './broker/tell-changes.ts';
import type { CloseCredential } from './broker/uses.ts';
import type { EgressConfig } from './config.ts';
import { type CredentialSource, noCredentials } from './credential-source.ts';
import { systemResolver } from './dial/resolve.ts';
import { keepDoorAlive } from './life/door-life.ts';
import { storedFloors } from './life/stored-floors.ts';
import { type RunningEgress, startEgress } from './start-egress.ts';
import { tellAttempts } from './tell-attempts.ts';
import { loadAuthority } from './tls/load-authority.ts';
import { parseVaultKeys } from './vault/vault-keys.ts';
import { VaultRecord } from './vault/vault-record.ts';

/** What was asked before the socket opened finds nothing to close: whatever is opened later reads the stored floor. */
const NOTHING = { closed: 0 };

/** Nothing where no key of a vault is configured: there are no credentials then. */
const openCredentials = (
  { vaultKeyFiles, limits, extraCa, privateOrigins, redirectUris, faults }: EgressConfig,
  bus: EgressBus,
  log: Logger,
  close: CloseCredential,
  tell: TellChange,
): Broker | undefined => {
  if (vaultKeyFiles.length === 0) return undefined;
  const keys = parseVaultKeys(vaultKeyFiles.map((file) => readFileSync(file, 'utf8')).join('\n'));
  const ca = [...rootCertificates, ...extraCa];
  return openBroker({ resolver: systemResolver, limits, ca, privateOrigins, redirectUris }, keys, {
    credentials: bus.credentials(CredentialRecord),
    vault: bus.vault(VaultRecord),
    close,
    clock: systemClock,
    faults,
    log,
    tell,
  });
};

const openDoor = async (
  config: EgressConfig,
  bus: EgressBus,
  telemetry: RunningTelemetry,
  incarnation: string,
  credentials: CredentialSource = noCredentials,
): Promise<RunningEgress> => {
  const { authority, socket, kinds, limits, extraCa, publicKeys } = config;
  const pem = authority && (await loadAuthority(authority, systemClock.now()));
  const verifier = createVerifier(publicKeys);
  return startEgress(
    { socket, kinds, limits, extraCa, verifier, ...(pem === undefined ? {} : { authority: pem }) },
    {
      credentials,
      attempts: tellAttempts({ events: telemetry.events, metrics: telemetry.metrics, clock: systemClock, incarnation }),
      floors: storedFloors(bus.floors, bus.lives, incarnation),
    },
  );
};

/**
 * Start order: connection, the ear for revocations, life sign, socket: so a router that stored a floor finds this process,
 * or this process finds the floor (protocol 7). Stop order: the socket with all connections, tokens that are being
 * fetched, the life sign, which says that everything is closed, the connection. One that may count as dead closes everything and ends.
 */
export const start = async (config: EgressConfig, log: Logger): Promise<RunningService> => {
  const bus = await connectEgress({ ...config.bus, name: 'egress' });
  const incarnation = `egress-${randomId()}`;
  const telemetry = startTelemetry({
    service: 'egress',
    role: 'egress',
    settings: config.telemetry,
    events: bus.events,
    isConnected: bus.isConnected,
  });
  bus.onRefused(tellRefusals(telemetry.metrics, log));
  let door: RunningEgress | undefined;
  const tell = tellChanges({ events: telemetry.events, clock: systemClock, incarnation });
  const close: CloseCredential = async (fits) => (await door?.closeCredential(fits)) ?? NOTHING;
  const broker = openCredentials(config, bus, log, close, tell);
  const deafen = bus.onRevocation(incarnation, async (revocation) => {
    const closed = (await door?.revoke(revocation)) ?? NOTHING;
    config.faults.at('egress.revoked');
    return closed;
  });
  const giveUp = async () => {
    await door?.stop();
    await broker?.stop();
    await telemetry.shutdown();
    await bus.close();
  };
  try {
    const { kinds, pace, healthPort } = config;
    const life = await keepDoorAlive({ lives: bus.lives, incarnation, kinds, clock: systemClock, pace, log });
    door = await openDoor(config, bus, telemetry, incarnation, broker?.source);
    const running = door;
    // One without a vault leaves the answer to those that have it.
    const unserve = broker && bus.serve(broker.serve);
    telemetry.metrics.gauge('toolfabric_egress_permits', {}, () => running.permits());
    const health =
      healthPort === undefined
        ? undefined
        : await startHealth(healthPort, () => true, {
            isReady: () => bus.isConnected(),
            metrics: telemetry.metricsText,
            ...(config.healthHost === undefined ? {} : { host: config.healthHost }),
          });
    let stopping: Promise<void> | undefined;
    const shutDown = async () => {
      unserve?.();
      await running.stop();
      await broker?.stop();
      await life.drained();
      deafen();
      await telemetry.shutdown();
      await bus.close();
      await health?.stop();
    };
    const lost = life.lost.then(async (reason) => {
      log.error('egress.lost', { reason });
      await running.stop();
      return reason;
    });
    const busGone = bus.closed.then((reason) => `the bus is gone: ${reason}`);
    return {
      name: 'egress',
      address: config.socket.path,
      stop: () => (stopping ??= shutDown()),
      failed: Promise.race([lost, busGone]).then((reason) => (stopping === undefined ? reason : new Promise(() => {}))),
    };
  } catch (thrown) {
    await giveUp();
    throw thrown;
  }
};
