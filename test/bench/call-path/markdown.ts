import { isMet, type Must } from './musts.ts';
import { type Report, SERVICES, servicesCpu } from './report.ts';

type Cell = string | number;

const cell = (value: Cell): string => {
  if (typeof value === 'string') return value;
  if (Number.isNaN(value)) return '';
  return value.toFixed(value >= 100 ? 0 : value >= 10 ? 1 : 2);
};

export const table = (head: readonly string[], rows: readonly (readonly Cell[])[]): string =>
  [
    `| ${head.join(' | ')} |`,
    `|${head.map((_, i) => (rows.some((row) => typeof row[i] === 'number') ? '---:' : '---')).join('|')}|`,
    ...rows.map((row) => `| ${row.map(cell).join(' | ')} |`),
  ].join('\n');

const mustRow = (must: Must): Cell[] => {
  const { name, value, limit, atMost, aim } = must;
  return [
    name,
    value,
    `${atMost ? 'at most' : 'at least'} ${limit}`,
    aim === undefined ? '' : String(aim),
    isMet(must) ? 'yes' : 'no',
  ];
};

const times = ({ rows }: Report): string => {
  const [roundTrip] = rows;
  return table(
    ['', 'callers', 'p50 ms', 'p95 ms', 'p99 ms', 'p50 in round trips', 'calls a second'],
    rows.map(({ name, callers, p50, p95, p99, callsPerSecond }) => [
      name,
      String(callers),
      p50,
      p95,
      p99,
      callers === 1 ? p50 / (roundTrip?.p50 ?? Number.NaN) : '',
      Math.round(callsPerSecond),
    ]),
  );
};

const modes = ({ rows }: Report): string =>
  table(
    ['', 'mode'],
    [...new Map(rows.map(({ name, mode }) => [name, mode] as const))].map(([name, mode]) => [name, mode]),
  );

const cpu = ({ rows, idleCpu }: Report): string => {
  const names = [...SERVICES, 'caller'];
  const fabric = rows.filter(({ cpuMsPerCall }) => 'gateway' in cpuMsPerCall);
  return table(
    ['CPU ms a call', 'callers', ...names, 'services and bus'],
    [
      ...fabric.map((row) => [
        row.name,
        String(row.callers),
        ...names.map((name) => row.cpuMsPerCall[name] ?? Number.NaN),
        servicesCpu(row),
      ]),
      ['nobody calls, CPU ms a second', '', ...names.map((name) => idleCpu[name] ?? Number.NaN), ''],
    ],
  );
};

const memory = (report: Report): string =>
  table(
    ['memory after the load, MiB', 'resident', 'peak'],
    Object.entries(report.memory).map(([name, { residentMiB, peakMiB }]) => [
      name,
      Math.round(residentMiB),
      Math.round(peakMiB),
    ]),
  );

const scale = (report: Report): string =>
  table(
    ['claimless read at 1 caller', 'p50 ms', 'p95 ms', 'ratio'],
    report.scale.map(({ name, p50, p95, ratio }) => [name, p50, p95, ratio]),
  );

const hops = ({ hops: found }: Report): string => {
  if (!found) return '';
  const { hops, total, messagesPerCall } = found;
  const steps = [...hops, total].map(({ name, p50, p95 }) => [name, p50, p95, (100 * p50) / total.p50]);
  const counts = Object.entries(messagesPerCall).map(([family, count]) => `${family} ${count.toFixed(1)}`);
  return `${table(['step', 'p50 ms', 'p95 ms', '%'], steps)}\n\nMessages on the bus a call: ${counts.join(', ')}.`;
};

const AREAS = 8;

const profiles = (report: Report): string =>
  Object.entries(report.profiles)
    .map(([service, { areas, busyMs, calls }]) =>
      table(
        [`${service}: main thread, by library`, '%', 'µs a call'],
        areas.slice(0, AREAS).map(({ name, ms }) => [name, (100 * ms) / busyMs, (1000 * ms) / calls]),
      ),
    )
    .join('\n\n');

/** The numbers of one run as the document shows them. */
export const renderMarkdown = (report: Report): string => {
  const { machine, others, musts } = report;
  const used = Object.entries(others).map(([callers, part]) => `${(100 * part).toFixed(0)} % at ${callers}`);
  const machineLine =
    `${machine.cores} cores, ${machine.system}, nats-server ${machine.bus}, Node ${machine.node}. ` +
    `Other processes used of the machine meanwhile: ${used.join(', ')} callers.`;
  const sections: readonly (readonly [string, string])[] = [
    ['What must hold', table(['', 'measured', 'must be', 'aim', 'holds'], musts.map(mustRow))],
    ['Time', `${times(report)}\n\n${modes(report)}`],
    ['CPU and memory', `${cpu(report)}\n\n${memory(report)}`],
    ['Many tools, many tenants', scale(report)],
    ['Where the time goes', hops(report)],
    ['Where the CPU time goes', profiles(report)],
  ];
  const filled = sections.filter(([, text]) => text !== '').map(([title, text]) => `### ${title}\n\n${text}`);
  return [machineLine, ...filled].join('\n\n');
};

const BEGIN = '<!-- numbers of one run: written by the benchmark -->';
const END = '<!-- end of the numbers -->';

/** The document with the numbers between its two marks replaced. Throws when a mark is missing. */
export const replaceNumbers = (document: string, numbers: string): string => {
  const [from, to] = [document.indexOf(BEGIN), document.indexOf(END)];
  if (from < 0 || to < from) throw new Error('the document has no place for the numbers');
  return `${document.slice(0, from + BEGIN.length)}\n\n${numbers}\n\n${document.slice(to)}`;
};
