import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { freePort } from '@toolfabric/bus-nats/testing';
import { METRIC_TABLE, type MetricRole, type MetricRow } from '@toolfabric/contract';
import { waitFor } from '@toolfabric/testkit';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type AppName, Cluster } from '../support/cluster.ts';

const DOCUMENT = fileURLToPath(new URL('../../docs/metrics.md', import.meta.url));
const ROWS = Object.entries<MetricRow>(METRIC_TABLE);

const cell = (names: readonly string[]): string => names.map((name) => `\`${name}\``).join(', ');
const line = ([name, { type, labels, by, help }]: [string, MetricRow]): string =>
  `| \`${name}\` | ${type} | ${cell(labels)} | ${by === undefined ? 'every' : by.join(', ')} | ${help} |`;

describe('docs/metrics.md', () => {
  it('has a row for every metric, as it is, and no other', () => {
    const written = readFileSync(DOCUMENT, 'utf8')
      .split('\n')
      .filter((row) => /^\| `(toolfabric|process|nodejs)_/.test(row));
    expect(written).toEqual(ROWS.map(line));
  });
});

describe('the services', () => {
  const SERVICES: readonly [AppName, MetricRole][] = [
    ['router', 'router'],
    ['gateway', 'gateway'],
    ['truth', 'worker'],
    ['cli', 'worker'],
    ['artifacts', 'artifacts'],
    ['trace-writer', 'trace-writer'],
  ];
  const ports = new Map<AppName, number>();
  let cluster: Cluster;
  const scrape = async (app: AppName): Promise<string> => {
    const answer = await fetch(`http://127.0.0.1:${ports.get(app)}/metrics`);
    expect(answer.status).toBe(200);
    return answer.text();
  };
  const sample = (text: string, series: string): number =>
    Number(
      text
        .split('\n')
        .find((row) => row.startsWith(`${series} `))
        ?.slice(series.length),
    );

  beforeAll(async () => {
    cluster = await Cluster.start();
    await cluster.publishTruth();
    for (const [app] of SERVICES) ports.set(app, await freePort());
    const spawned = SERVICES.map(([app]) => cluster.spawn(app, '', { TOOLFABRIC_HEALTH_PORT: String(ports.get(app)) }));
    await Promise.all(spawned.map(({ ready }) => ready));
  }, 60_000);
  afterAll(() => cluster.stop());

  it.each(SERVICES)('%s serves what the table says of a %s', async (app, role) => {
    const served = [...(await scrape(app)).matchAll(/^# TYPE (\S+) (\S+)$/gm)].map(
      ([, name, type]) => `${name} ${type}`,
    );
    const rows = ROWS.filter(([, { by }]) => by === undefined || by.includes(role));
    expect(served.sort()).toEqual(rows.map(([name, { type }]) => `${name} ${type}`).sort());
  });

  it('a call is counted at every hop, once, and a refusal where it was made', async () => {
    const client = cluster.client();
    const { taskId } = await client.createTask({ title: 'counted' });
    const secret = 'counted-secret-value';
    const ok = await client.call({ taskId, tool: 'truth.append', args: { identity: secret } });
    expect(ok.state).toBe('ok');
    await client.call({ taskId, tool: 'truth.append', args: { identity: 5 } });
    await client.call({ taskId, tool: 'truth.append', args: '{' });
    const labels = 'tool="truth.append",kind="truth"';
    await waitFor(async () => sample(await scrape('router'), `toolfabric_calls_total{${labels},state="ok"}`) === 1);
    const [router, gateway, worker] = [await scrape('router'), await scrape('gateway'), await scrape('truth')];
    expect(sample(router, `toolfabric_calls_accepted_total{${labels}}`)).toBe(1);
    expect(sample(router, `toolfabric_call_duration_seconds_count{${labels}}`)).toBe(1);
    expect(sample(router, 'toolfabric_refusals_total{type="invalid_arguments",layer="protocol"}')).toBe(1);
    expect(sample(gateway, 'toolfabric_refusals_total{type="invalid_arguments",layer="protocol"}')).toBe(1);
    expect(sample(gateway, 'toolfabric_requests_total{verb="Call",code="ok"}')).toBe(3);
    expect(sample(worker, `toolfabric_executions_total{${labels},status="ok"}`)).toBe(1);
    expect(sample(worker, 'toolfabric_queue_wait_seconds_count{kind="truth"}')).toBe(1);
    expect(sample(worker, 'toolfabric_executions_in_flight{kind="truth"}')).toBe(0);
    expect(sample(router, 'toolfabric_workers_alive{kind="truth"}')).toBe(1);
    for (const text of [router, gateway, worker]) {
      expect(sample(text, 'toolfabric_bus_connected')).toBe(1);
      expect(text).not.toContain(secret);
      for (const name of ['acme', 'ada', taskId, ok.callId]) expect(text).not.toContain(`"${name}"`);
    }
  });

  it('a bus that is gone is seen', async () => {
    await cluster.nats.kill();
    await waitFor(async () => sample(await scrape('gateway'), 'toolfabric_bus_connected') === 0);
    await waitFor(
      async () => sample(await scrape('truth'), 'toolfabric_life_renewal_failures_total{kind="truth"}') > 0,
    );
  });
});
