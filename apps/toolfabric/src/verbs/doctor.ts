import { EXIT } from '../cli/exit-codes.ts';
import { JSON_FLAG, type Verb } from '../cli/verb.ts';
import type { Report } from '../doctor/examine.ts';

const programLine = ({ name, works, path, version, needed }: Report['programs'][number]): string => {
  const state = works ? (version ?? '?').padEnd(12) : path === undefined ? 'MISSING' : 'BROKEN'.padEnd(12);
  return `${name.padEnd(12)} ${needed ? `${state}${path ?? ''}` : 'not on this system'}`;
};

const featureLines = (bus: NonNullable<Report['bus']>): string[] => [
  'bus, by what the server echoes:',
  ...Object.entries(bus)
    .filter(([, value]) => typeof value === 'boolean')
    .map(([name, value]) => `  ${name.padEnd(22)} ${value ? 'yes' : 'no'}`),
];

const limitLines = (limits: Report['limits']): string[] => [
  'limits of commands:',
  ...Object.entries(limits).map(([name, { works }]) => `  ${name.padEnd(22)} ${works ? 'yes' : 'no'}`),
];

const serverLines = ({ traceServer }: Report): string[] => {
  if (traceServer === undefined) return [];
  const { works, version = '', reason = '' } = traceServer;
  return [`clickhouse   ${works ? `answers, ${version}` : `OFF: ${reason}`}`];
};

const describe = (report: Report): string => {
  const { node, programs, sandbox, limits, traces, bus, warnings, off } = report;
  return [
    `node         ${node}`,
    ...programs.map(programLine),
    `sandbox      ${sandbox.works ? 'works, with name spaces of its own' : `OFF: ${sandbox.reason ?? ''}`}`,
    `traces       ${traces.works ? `embedded engine ${traces.version ?? ''}` : `OFF: ${traces.reason ?? ''}`}`,
    ...serverLines(report),
    ...limitLines(limits),
    ...(bus ? featureLines(bus) : []),
    ...warnings.map((warning) => `warning: ${warning}`),
    ...off.map((what) => `off: ${what}`),
    ...(off.length === 0 ? ['everything is there'] : []),
  ].join('\n');
};

export const doctor: Verb = {
  name: 'doctor',
  summary: 'Say what was found on this machine, and what is off because something is missing.',
  usage: '',
  positionals: [0, 0],
  flags: JSON_FLAG,
  notes: 'Exit code 0 when everything is there (warnings included), 5 when something is off.',
  run: async ({ config, output }) => {
    const { examine } = await import('../doctor/examine.ts');
    const report = await examine(config.path, config.clickhouse);
    output.show(report, describe(report));
    return report.off.length === 0 ? EXIT.ok : EXIT.unavailable;
  },
};
