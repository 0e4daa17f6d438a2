import { readFileSync } from 'node:fs';
import { connectWorker, parsePublicBusKeys } from '@toolfabric/bus-nats';
import { armFaultPoints, createVerifier, PACES, parseFaults } from '@toolfabric/kernel';
import { runService, startHealth } from '@toolfabric/service-host';
import { startTelemetry } from '@toolfabric/telemetry';
import { TELEMETRY_ENVIRONMENT, telemetrySettings } from '@toolfabric/telemetry/settings';
import { runWorker } from '@toolfabric/worker-runtime';
import { z } from 'zod';
import { trackerTools } from './tools.ts';

const env = z
  .object({
    TOOLFABRIC_NATS_URL: z.string(),
    TOOLFABRIC_NKEY_SEED_FILE: z.string(),
    TOOLFABRIC_BUS_KEYS_FILE: z.string(),
    TOOLFABRIC_PUBLIC_KEYS_FILE: z.string(),
    TOOLFABRIC_PACE: z.enum(['production', 'test']),
    TOOLFABRIC_FAULTS: z.string().default(''),
    TOOLFABRIC_SLOTS: z.coerce.number().default(8),
    TOOLFABRIC_REDACTION_KEY_FILE: z.string().optional(),
    TOOLFABRIC_HEALTH_PORT: z.coerce.number().optional(),
    TRACKER_URL: z.url(),
    ...TELEMETRY_ENVIRONMENT,
  })
  .parse(process.env);

await runService('worker-tracker', async (log) => {
  const nkeySeed = readFileSync(env.TOOLFABRIC_NKEY_SEED_FILE, 'utf8').trim();
  const publicKeys = parsePublicBusKeys(readFileSync(env.TOOLFABRIC_BUS_KEYS_FILE, 'utf8'));
  const bus = await connectWorker(
    { servers: env.TOOLFABRIC_NATS_URL, nkeySeed, publicKeys, name: 'worker-tracker' },
    'tracker',
  );
  const { events, isConnected } = bus;
  const settings = telemetrySettings(env);
  const telemetry = startTelemetry({ service: 'worker-tracker', role: 'worker', settings, events, isConnected });
  const keyFile = env.TOOLFABRIC_REDACTION_KEY_FILE;
  const worker = await runWorker({
    kind: 'tracker',
    ports: { ...bus, events: telemetry.events },
    telemetry,
    ...(keyFile === undefined ? {} : { redactionSecret: Buffer.from(readFileSync(keyFile, 'utf8').trim()) }),
    tools: trackerTools(env.TRACKER_URL),
    verifier: createVerifier(JSON.parse(readFileSync(env.TOOLFABRIC_PUBLIC_KEYS_FILE, 'utf8'))),
    pace: PACES[env.TOOLFABRIC_PACE],
    slots: env.TOOLFABRIC_SLOTS,
    isolation: ['process', 'namespace'],
    faults: armFaultPoints(parseFaults(env.TOOLFABRIC_FAULTS), true),
    log,
  });
  const port = env.TOOLFABRIC_HEALTH_PORT;
  const health =
    port === undefined ? undefined : await startHealth(port, () => true, { metrics: telemetry.metricsText });
  if (health?.address !== undefined) log.info('health', { address: health.address });
  return {
    name: 'worker-tracker',
    failed: worker.failed,
    async stop() {
      await worker.stop();
      await telemetry.shutdown();
      await bus.close();
      await health?.stop();
    },
  };
});
