import { EXIT } from '../cli/exit-codes.ts';
import { JSON_FLAG, type Verb } from '../cli/verb.ts';
import { examine, type Report } from '../doctor/examine.ts';

const describe = ({ node, programs, sandbox, bus, warnings, off }: Report): string =>
  [
    `node         ${node}`,
    ...programs.map(({ name, path, version, needed }) => {
      const found =
        path === undefined ? (needed ? 'MISSING' : 'not on this system') : `${version ?? '?'}`.padEnd(12) + path;
      return `${name.padEnd(12)} ${found}`;
    }),
    `sandbox      ${sandbox.works ? 'works: own user, mount, network, process, IPC and host name spaces' : `OFF: ${sandbox.why}`}`,
    ...(bus
      ? [
          'bus, by what the server echoes:',
          ...Object.entries(bus)
            .filter(([, value]) => typeof value === 'boolean')
            .map(([name, value]) => `  ${name.padEnd(22)} ${value ? 'yes' : 'no'}`),
        ]
      : []),
    ...warnings.map((warning) => `warning: ${warning}`),
    ...off.map((what) => `off: ${what}`),
    ...(off.length === 0 ? ['everything is there'] : []),
  ].join('\n');

export const doctor: Verb = {
  name: 'doctor',
  summary: 'Say what was found on this machine, and what is off because something is missing.',
  usage: '',
  positionals: [0, 0],
  flags: JSON_FLAG,
  notes: 'Exit code 0 when everything is there (warnings included), 5 when something is off.',
  run: async ({ config, output }) => {
    const report = await examine(config.path);
    output.show(report, describe(report));
    return report.off.length === 0 ? EXIT.ok : EXIT.unavailable;
  },
};
