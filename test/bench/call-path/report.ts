import type { HopReport } from './hops.ts';
import type { Row } from './measure.ts';
import { isMet, type Must } from './musts.ts';
import type { CpuMs, Memory } from './process-usage.ts';
import type { ProfileSummary } from './profile-summary.ts';

export interface Report {
  readonly machine: {
    readonly cores: number;
    readonly system: string;
    readonly node: string;
    readonly bus: string;
    readonly loadBefore: number;
  };
  readonly quick: boolean;
  readonly rows: readonly Row[];
  /** By callers: part of the machine that processes other than the benchmark's used meanwhile, 0 to 1. */
  readonly others: Readonly<Record<string, number>>;
  /** CPU milliseconds a second of each service while nobody calls. */
  readonly idleCpu: CpuMs;
  readonly memory: Readonly<Record<string, Memory>>;
  readonly scale: readonly ScaleRow[];
  readonly hops: HopReport | undefined;
  readonly profiles: Readonly<Record<string, ProfileSummary & { readonly calls: number }>>;
  readonly musts: readonly Must[];
}

export interface ScaleRow {
  readonly name: string;
  readonly p50: number;
  readonly p95: number;
  /** Median over the rounds of the p50 over that of the smallest in the same round. */
  readonly ratio: number;
}

const digits = (value: number, most: number): string =>
  Number.isNaN(value) ? '-' : value.toFixed(value >= 100 ? 0 : most);

type Cell = string | number;

/** Columns as wide as their widest cell; numbers to the right. */
const table = (head: readonly string[], rows: readonly (readonly Cell[])[]): string => {
  const texts = [head, ...rows].map((row) => row.map((cell) => (typeof cell === 'number' ? digits(cell, 2) : cell)));
  const widths = head.map((_, i) => Math.max(...texts.map((row) => row[i]?.length ?? 0)));
  const isNumber = head.map((_, i) => rows.some((row) => typeof row[i] === 'number'));
  const line = (row: readonly string[]) =>
    row.map((cell, i) => (isNumber[i] ? cell.padStart(widths[i] ?? 0) : cell.padEnd(widths[i] ?? 0))).join('  ');
  return texts.map((row) => line(row).trimEnd()).join('\n');
};

export const SERVICES = ['gateway', 'router', 'worker', 'nats-server'] as const;

/** CPU milliseconds a call of everything but the process that makes the load. */
export const servicesCpu = ({ cpuMsPerCall }: Row): number =>
  SERVICES.map((name) => cpuMsPerCall[name] ?? Number.NaN).reduce((sum, ms) => sum + ms, 0);

const timesTable = (rows: readonly Row[]): string =>
  table(
    ['', 'callers', 'calls', 'p50 ms', 'p95 ms', 'p99 ms', 'calls/s', 'mode'],
    rows.map(({ name, mode, callers, calls, p50, p95, p99, callsPerSecond }) => [
      name,
      String(callers),
      String(calls),
      p50,
      p95,
      p99,
      Math.round(callsPerSecond),
      mode,
    ]),
  );

const cpuTable = (rows: readonly Row[], idle: CpuMs): string => {
  const names = [...SERVICES, 'caller'];
  const fabric = rows.filter(({ cpuMsPerCall }) => 'gateway' in cpuMsPerCall);
  return table(
    ['CPU ms a call', 'callers', ...names, 'services'],
    [
      ...fabric.map((row) => [
        row.name,
        String(row.callers),
        ...names.map((name) => row.cpuMsPerCall[name] ?? Number.NaN),
        servicesCpu(row),
      ]),
      ...(Object.keys(idle).length === 0
        ? []
        : [['idle, CPU ms a second', '', ...names.map((name) => idle[name] ?? Number.NaN), '']]),
    ],
  );
};

const memoryTable = (memory: Report['memory']): string =>
  table(
    ['memory, MiB', 'resident', 'peak'],
    Object.entries(memory).map(([name, { residentMiB, peakMiB }]) => [
      name,
      Math.round(residentMiB),
      Math.round(peakMiB),
    ]),
  );

const scaleTable = (scale: readonly ScaleRow[]): string =>
  table(
    ['in turn', 'p50 ms', 'p95 ms', 'ratio'],
    scale.map(({ name, p50, p95, ratio }) => [name, p50, p95, ratio]),
  );

const hopsTable = ({ hops, total, messagesPerCall }: HopReport): string => {
  const steps = table(
    ['where the time of a claimless read goes, 1 caller, every message heard', 'p50 ms', 'p95 ms', '%'],
    [...hops, total].map(({ name, p50, p95 }) => [name, p50, p95, (100 * p50) / total.p50]),
  );
  const counts = Object.entries(messagesPerCall).map(([family, count]) => `${family} ${digits(count, 1)}`);
  return `${steps}\n\nmessages on the bus a call: ${counts.join(', ')}`;
};

const TOP = 25;

const profileTables = (profiles: Report['profiles']): string =>
  Object.entries(profiles)
    .map(([service, { busyMs, calls, ...lists }]) => {
      const rows = (['areas', 'self', 'inclusive'] as const).flatMap((list) =>
        lists[list]
          .slice(0, TOP)
          .map(({ name, ms }) => [list, (100 * ms) / busyMs, (1000 * ms) / calls, name] as const),
      );
      return table([`${service}, main thread`, '%', 'us a call', 'where'], rows);
    })
    .join('\n\n');

const mustLine = (must: Must): string => {
  const { name, value, limit, atMost, aim } = must;
  const aimed = aim === undefined ? '' : `, aim ${aim}`;
  return `${isMet(must) ? 'met   ' : 'MISSED'}  ${name}: ${digits(value, 2)} (must be ${atMost ? 'at most' : 'at least'} ${limit}${aimed})`;
};

const failedLines = (rows: readonly Row[]): string[] =>
  rows
    .filter(({ failed }) => Object.keys(failed).length > 0)
    .map(({ name, callers, failed }) => `failed, ${name} at ${callers}: ${JSON.stringify(failed)}`);

export const renderReport = (report: Report): string => {
  const { machine, rows, others, idleCpu, memory, scale, hops, profiles, musts } = report;
  const used = Object.entries(others).map(([callers, part]) => `${digits(100 * part, 0)} % at ${callers}`);
  const parts = [
    `${machine.cores} cores, ${machine.system}, nats-server ${machine.bus}, Node ${machine.node}; load before ${digits(machine.loadBefore, 1)}` +
      (used.length > 0 ? `; used by others: ${used.join(', ')}` : '') +
      (report.quick ? '\nA quick run: too short to publish.' : ''),
    ...(rows.length > 0 ? [timesTable(rows), cpuTable(rows, idleCpu)] : []),
    ...(Object.keys(memory).length > 0 ? [memoryTable(memory)] : []),
    ...(scale.length > 0 ? [scaleTable(scale)] : []),
    ...(hops ? [hopsTable(hops)] : []),
    ...(Object.keys(profiles).length > 0 ? [profileTables(profiles)] : []),
    [...musts.map(mustLine), ...failedLines(rows)].join('\n'),
  ];
  return parts.join('\n\n');
};
