import { table } from '../call-path/markdown.ts';
import { isMet, type Must } from '../call-path/musts.ts';
import type { DecisionRow } from './measure-decisions.ts';
import type { FloodNumbers } from './measure-flood.ts';
import type { PathNumbers } from './measure-path.ts';
import type { ShellNumbers } from './measure-shell.ts';

export interface GovernanceReport {
  readonly machine: string;
  readonly decisions?: readonly DecisionRow[];
  readonly path?: PathNumbers;
  readonly flood?: FloodNumbers;
  readonly shell?: ShellNumbers;
}

const must = (name: string, value: number | undefined, limit: number): Must[] =>
  value === undefined ? [] : [{ name, value, limit, atMost: true }];

const mustsOf = ({ path, flood, shell }: GovernanceReport): Must[] => [
  ...must('p50 of a call with full governance over one with the rules of the fabric alone', path?.governed, 1.5),
  ...must(`p50 of a call while ${path?.pending} approvals wait over one without`, path?.waiting, 1.05),
  ...must('calls of other tenants that did not end ok while one tenant floods', flood?.failed, 0),
  ...must('shell texts that bash read otherwise than the analysis', shell?.unsound, 0),
];

export const missedIn = (report: GovernanceReport): Must[] => mustsOf(report).filter((one) => !isMet(one));

const decisions = (rows: readonly DecisionRow[]): string =>
  table(
    ['one decision in one process', 'policies', 'p50 µs', 'p99 µs'],
    rows.map(({ kind, policies, p50, p99 }) => [kind, String(policies), Math.round(p50), Math.round(p99)]),
  );

const path = ({ rows, governed, waiting }: PathNumbers): string =>
  `${table(
    ['claimless read at 1 caller', 'p50 ms', 'p95 ms'],
    rows.map(({ name, p50, p95 }) => [name, p50, p95]),
  )}\n\nRatios of the medians of single rounds: ${governed.toFixed(3)} and ${waiting.toFixed(3)}.`;

const flood = ({ idle, flooded, others, flood: { answered, refused } }: FloodNumbers): string =>
  `${table(
    ['nine tenants, one caller each', 'p50 ms', 'p95 ms'],
    [
      ['alone', idle.p50, idle.p95],
      ['while the tenth floods with 64 callers', flooded.p50, flooded.p95],
    ],
  )}\n\np95 against idle: ${(flooded.p95 / idle.p95).toFixed(2)} (aim: 2). Calls of the nine: ${others}; of the flooding tenant ${answered} were answered and ${refused} refused with a time to wait.`;

const shell = ({ p50, p99, strings, run, unsound }: ShellNumbers): string =>
  table(
    ['', ''],
    [
      ['analysis of one text, p50 µs', Math.round(p50)],
      ['analysis of one text, p99 µs', Math.round(p99)],
      ['texts fuzzed against bash', strings],
      ['of these, run without a shell and compared', run],
      ['read otherwise by bash', unsound],
    ].map((row) => row.map((value) => (typeof value === 'number' ? String(value) : value))),
  );

export const renderGovernance = (report: GovernanceReport): string => {
  const musts = table(
    ['What must hold', 'measured', 'must be', 'holds'],
    mustsOf(report).map((one) => [one.name, one.value, `at most ${one.limit}`, isMet(one) ? 'yes' : 'no']),
  );
  const sections = [
    report.decisions && `### Decisions\n\n${decisions(report.decisions)}`,
    report.path && `### The call path\n\n${path(report.path)}`,
    report.flood && `### One tenant floods\n\n${flood(report.flood)}`,
    report.shell && `### The open shell\n\n${shell(report.shell)}`,
  ].filter((section) => section !== undefined);
  return [report.machine, musts, ...sections].join('\n\n');
};
