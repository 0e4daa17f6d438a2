import { table } from '../call-path/markdown.ts';
import { isMet, type Must } from '../call-path/musts.ts';
import type { ArtifactNumbers } from './measure-artifacts.ts';
import type { OutputNumbers } from './measure-output.ts';
import type { RunNumbers } from './measure-runs.ts';
import type { StoreNumbers, TracingEffect } from './measure-traces.ts';

export interface CommandReport {
  readonly machine: string;
  readonly runs?: RunNumbers;
  readonly output?: OutputNumbers;
  readonly artifacts?: ArtifactNumbers;
  readonly store?: StoreNumbers;
  readonly effect?: TracingEffect;
}

const mustsOf = ({ runs, effect }: CommandReport): Must[] => [
  ...(runs === undefined
    ? []
    : [
        {
          name: 'process.run in the worker, p50 above a raw spawn, ms',
          value: runs.executionAbove,
          limit: 8,
          atMost: true,
        },
      ]),
  ...(effect === undefined
    ? []
    : [
        {
          name: 'p50 of a call with everything recorded over one without',
          value: effect.ratio,
          limit: 1.05,
          atMost: true,
        },
      ]),
];

export const missedIn = (report: CommandReport): Must[] => mustsOf(report).filter((must) => !isMet(must));

const mega = (bytes: number): string => `${Math.round(bytes / 1e6)} MB`;

const sectionsOf = ({ runs, output, artifacts, store, effect }: CommandReport): [string, string][] => [
  [
    'A trivial program',
    runs === undefined
      ? ''
      : `${table(
          ['one caller, empty workspace', 'p50 ms', 'p95 ms', 'p99 ms'],
          runs.rows.map(({ name, p50, p95, p99 }) => [name, p50, p95, p99]),
        )}\n\nAbove the raw spawn at p50: ${runs.executionAbove.toFixed(1)} ms in the worker, ${runs.callAbove.toFixed(1)} ms as the caller sees it.`,
  ],
  [
    'Much output',
    output === undefined
      ? ''
      : `${table(
          [`${mega(output.bytes)} of text lines`, 'MB a second'],
          [
            ['plain pipe into a file', output.plainMBs],
            ['process.run: sandbox, redaction, summary, artifact', output.callMBs],
          ],
        )}\n\n${table(
          ['memory, MiB', 'before', 'peak'],
          [
            ['worker-cli', output.worker.beforeMiB, output.worker.peakMiB],
            ['artifacts', output.artifacts.beforeMiB, output.artifacts.peakMiB],
          ],
        )}`,
  ],
  [
    'Artifacts',
    artifacts === undefined
      ? ''
      : table(
          ['one writer, one reader', 'file system', 'artifact store'],
          [
            [`write of ${mega(artifacts.bytes)}, made durable, MB a second`, artifacts.copyMBs, artifacts.writeMBs],
            ['range of 1 MiB, p50 ms', artifacts.fileRangeMs, artifacts.storeRangeMs],
          ],
        ),
  ],
  [
    'Traces',
    [
      store === undefined
        ? ''
        : table(
            ['', ''],
            [
              [`${store.events} events published and stored, events a second`, Math.round(store.eventsPerSecond)],
              ['trace writer, peak MiB', store.writerMiB],
              ['embedded engine, MiB afterwards', store.engineMiB],
            ],
          ),
      effect === undefined
        ? ''
        : `${table(
            ['claimless read at 1 caller', 'p50 ms', 'p95 ms'],
            effect.rows.map(({ name, p50, p95 }) => [name, p50, p95]),
          )}\n\nRatio of the medians of single rounds: ${effect.ratio.toFixed(3)}.`,
    ]
      .filter((text) => text !== '')
      .join('\n\n'),
  ],
];

export const renderCommands = (report: CommandReport): string => {
  const musts = table(
    ['What must hold', 'measured', 'must be', 'holds'],
    mustsOf(report).map((must) => [must.name, must.value, `at most ${must.limit}`, isMet(must) ? 'yes' : 'no']),
  );
  const sections = sectionsOf(report).filter(([, text]) => text !== '');
  return [report.machine, musts, ...sections.map(([title, text]) => `### ${title}\n\n${text}`)].join('\n\n');
};
