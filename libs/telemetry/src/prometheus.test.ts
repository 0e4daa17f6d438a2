import { METRIC_TABLE, type MetricRow } from '@toolfabric/contract';
import { afterEach, describe, expect, it } from 'vitest';
import { createMetrics, MOST_SERIES, type ServedMetrics } from './prometheus.ts';

let made: ServedMetrics[] = [];
const create = (...[role]: Parameters<typeof createMetrics>): ServedMetrics => {
  const metrics = createMetrics(role);
  made.push(metrics);
  return metrics;
};
afterEach(() => {
  for (const metrics of made) metrics.stop();
  made = [];
});

const namesIn = (text: string): string[] => [...text.matchAll(/^# TYPE (\S+)/gm)].map(([, name = '']) => name).sort();

describe('the numbers of a service', () => {
  it.each(['gateway', 'router', 'worker', 'artifacts', 'trace-writer', 'egress'] as const)(
    'of %s: its rows',
    async (role) => {
      const rows = Object.entries<MetricRow>(METRIC_TABLE).filter(([, { by }]) => !by || by.includes(role));
      expect(namesIn(await create(role).text())).toEqual(rows.map(([name]) => name).sort());
    },
  );

  it('every name says what it is: counters end in _total, and times and sizes in their unit', () => {
    for (const [name, { type }] of Object.entries<MetricRow>(METRIC_TABLE)) {
      expect(name.endsWith('_total'), name).toBe(type === 'counter');
      if (type === 'histogram') expect(name).toMatch(/_(seconds|bytes)$/);
    }
  });

  it('no label can hold who called or what was called for', () => {
    const labels = new Set(Object.values<MetricRow>(METRIC_TABLE).flatMap((row) => [...row.labels]));
    for (const label of ['tenant', 'user', 'agent', 'task', 'call', 'traceId']) expect(labels).not.toContain(label);
  });

  it('are counted, timed, and read when they are asked for', async () => {
    const metrics = create('router');
    let open = 1;
    metrics.gauge('toolfabric_calls_open', {}, () => open);
    metrics.count('toolfabric_calls_total', { tool: 'a.b', kind: 'cli', state: 'ok' });
    metrics.count('toolfabric_calls_total', { tool: 'a.b', kind: 'cli', state: 'ok' }, 2);
    metrics.observe('toolfabric_call_duration_seconds', 0.2, { tool: 'a.b', kind: 'cli' });
    open = 7;
    const text = await metrics.text();
    expect(text).toContain('toolfabric_calls_open 7\n');
    expect(text).toContain('toolfabric_calls_total{tool="a.b",kind="cli",state="ok"} 3\n');
    expect(text).toContain('toolfabric_call_duration_seconds_bucket{le="0.25",tool="a.b",kind="cli"} 1\n');
    expect(text).toMatch(/^process_cpu_seconds_total [0-9.]+$/m);
    expect(text).toMatch(/^process_resident_memory_bytes [1-9]/m);
    expect(text).toMatch(/^nodejs_eventloop_delay_seconds\{quantile="0.99"\} [0-9.e-]+$/m);
  });

  it('a time is counted in its bucket and in all above it', async () => {
    const metrics = create('router');
    const labels = { tool: 'a.b', kind: 'cli' };
    for (const seconds of [0.25, 0.2500001, 1e9, 0])
      metrics.observe('toolfabric_call_duration_seconds', seconds, labels);
    const lines = (await metrics.text()).split('\n').filter((line) => line.startsWith('toolfabric_call_duration'));
    const of = (le: string) => `toolfabric_call_duration_seconds_bucket{le="${le}",tool="a.b",kind="cli"}`;
    expect(lines).toContain(`${of('0.25')} 2`);
    expect(lines).toContain(`${of('0.5')} 3`);
    expect(lines).toContain(`${of('+Inf')} 4`);
    expect(lines).toContain('toolfabric_call_duration_seconds_count{tool="a.b",kind="cli"} 4');
    expect(lines).toContain('toolfabric_call_duration_seconds_sum{tool="a.b",kind="cli"} 1000000000.5000001');
  });

  it('of another role are taken and not served', async () => {
    const metrics = create('gateway');
    metrics.count('toolfabric_probes_total', { kind: 'cli' });
    expect(await metrics.text()).not.toContain('probes');
  });

  it('stay bounded, whatever is called', async () => {
    const metrics = create('router');
    for (let i = 0; i < MOST_SERIES + 500; i += 1)
      metrics.count('toolfabric_calls_accepted_total', { tool: `tool.n${i}`, kind: 'cli' });
    const lines = (await metrics.text())
      .split('\n')
      .filter((line) => line.startsWith('toolfabric_calls_accepted_total'));
    expect(lines).toHaveLength(MOST_SERIES + 1);
    expect(lines).toContain('toolfabric_calls_accepted_total{tool="other",kind="other"} 500');
  });

  it('a label with quotes and line ends breaks no line', async () => {
    const metrics = create('router');
    metrics.count('toolfabric_probes_total', { kind: 'a"\n\\b' });
    expect(await metrics.text()).toContain('toolfabric_probes_total{kind="a\\"\\n\\\\b"} 1\n');
  });
});
