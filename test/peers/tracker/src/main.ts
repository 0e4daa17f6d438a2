import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { runService } from '@toolfabric/service-host';
import { z } from 'zod';
import { answerRequest } from './answer-request.ts';
import { Issues } from './issues.ts';
import { ArmedFaults } from './modes.ts';

/** An outside service: an issue tracker over HTTP whose log is the truth, and which fails as it is told to. */
const env = z
  .object({
    TRACKER_PORT: z.coerce.number().default(0),
    TRACKER_FILE: z.string(),
    TRACKER_DEDUPE: z.enum(['0', '1']).default('0'),
    TRACKER_SEARCH_LAG_MS: z.coerce.number().default(0),
  })
  .parse(process.env);

await runService('tracker', async (log) => {
  const issues = new Issues(env.TRACKER_FILE, {
    dedupe: env.TRACKER_DEDUPE === '1',
    searchLagMs: env.TRACKER_SEARCH_LAG_MS,
  });
  const faults = new ArmedFaults();
  const server = createServer((request, response) => {
    answerRequest(issues, faults, request, response).catch((thrown: unknown) => {
      log.warn('request.failed', { cause: thrown instanceof Error ? thrown.name : 'thrown' });
      if (!response.headersSent) response.writeHead(400).end();
      else response.destroy();
    });
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(env.TRACKER_PORT, '127.0.0.1', resolve);
  });
  return {
    name: 'tracker',
    address: `127.0.0.1:${(server.address() as AddressInfo).port}`,
    failed: new Promise<string>(() => {}),
    async stop() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
      issues.log.close();
    },
  };
});
