import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { RunningService } from './running-service.ts';

export interface HealthOptions {
  /** Loopback unless said; a pod gives `0.0.0.0`, since its probes come from the node. */
  readonly host?: string;
  /** Whether new work may come; the same as healthy unless said. */
  readonly isReady?: () => boolean;
  /** Prometheus text for `GET /metrics`; without it there is no such page. */
  readonly metrics?: () => Promise<string>;
  /** States and numbers for a person, as JSON for `GET /status`; never caller data. */
  readonly status?: () => unknown;
}

const METRICS_TYPE = 'text/plain; version=0.0.4; charset=utf-8';

/**
 * Answers `GET /healthz` (restart me when it fails) and `GET /readyz` (send me nothing when it fails) with 200 or 503,
 * and `GET /metrics` and `GET /status` with what is handed in. Nothing else is said about the service. Port 0 takes a
 * free one. Rejects when the port is taken.
 */
export const startHealth = async (
  port: number,
  isHealthy: () => boolean,
  options: HealthOptions = {},
): Promise<RunningService> => {
  const checks = new Map([
    ['/healthz', isHealthy],
    ['/readyz', options.isReady ?? isHealthy],
  ]);
  const { metrics, status } = options;
  const server = createServer((request, response) => {
    const path = request.method === 'GET' || request.method === 'HEAD' ? request.url : undefined;
    if (path === '/metrics' && metrics !== undefined) return void answerMetrics(response, metrics);
    if (path === '/status' && status !== undefined)
      return answer(response, 200, JSON.stringify(status()), 'application/json');
    const check = checks.get(path ?? '');
    if (!check) return answer(response, 404, 'not found');
    return check() ? answer(response, 200, 'ok') : answer(response, 503, 'not ok');
  });
  server.headersTimeout = 5_000;
  server.requestTimeout = 5_000;
  server.maxConnections = 64;
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, options.host ?? '127.0.0.1', resolve);
  });
  const { address, port: bound } = server.address() as AddressInfo;
  return {
    name: 'health',
    address: `${address}:${bound}`,
    failed: new Promise((resolve) => server.on('error', () => resolve('the health port failed'))),
    stop: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
};

const answer = (response: ServerResponse, status: number, text: string, type = 'text/plain'): void => {
  response.writeHead(status, { 'content-type': type, 'cache-control': 'no-store' }).end(`${text}\n`);
};

const answerMetrics = async (response: ServerResponse, metrics: () => Promise<string>): Promise<void> => {
  try {
    answer(response, 200, (await metrics()).trimEnd(), METRICS_TYPE);
  } catch {
    answer(response, 500, 'not ok');
  }
};
