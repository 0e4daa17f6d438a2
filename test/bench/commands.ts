/**
 * `npm run bench commands`: what a command, its output, an artifact and a trace cost, beside what the machine gives for
 * the same without the fabric, in the same run. Ends with 1 when a limit is missed.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { cpus } from 'node:os';
import { parseArgs } from 'node:util';
import { replaceNumbers } from './call-path/markdown.ts';
import { CommandFabric } from './commands/command-fabric.ts';
import { type CommandReport, missedIn, renderCommands } from './commands/markdown.ts';
import { measureArtifacts } from './commands/measure-artifacts.ts';
import { measureOutput } from './commands/measure-output.ts';
import { measureRuns } from './commands/measure-runs.ts';
import { measureEffect, measureStore } from './commands/measure-traces.ts';

const PARTS = ['runs', 'output', 'artifacts', 'traces'] as const;
const USAGE = `usage: npm run bench commands -- [--quick] [--no-assert] [--only ${PARTS.join('|')}] [--document FILE]`;
const MEGABYTE = 1_000_000;

const readOptions = () => {
  try {
    const { values } = parseArgs({
      options: {
        quick: { type: 'boolean', default: false },
        'no-assert': { type: 'boolean', default: false },
        only: { type: 'string', multiple: true, default: [...PARTS] },
        document: { type: 'string' },
      },
    });
    const unknown = values.only.find((part) => !(PARTS as readonly string[]).includes(part));
    if (unknown !== undefined) throw new Error(`there is no part ${unknown}`);
    return values;
  } catch (thrown) {
    console.error(`${thrown instanceof Error ? thrown.message : thrown}\n\n${USAGE}`);
    process.exit(2);
  }
};

const options = readOptions();
const plan = options.quick
  ? { rounds: 25, outputBytes: 100 * MEGABYTE, artifactBytes: 32 * MEGABYTE, copies: 3, events: 20_000, slices: 6 }
  : { rounds: 120, outputBytes: 500 * MEGABYTE, artifactBytes: 256 * MEGABYTE, copies: 5, events: 100_000, slices: 20 };
const wants = (part: (typeof PARTS)[number]) => options.only.includes(part);
const say = (text: string) => console.error(`bench: ${text}`);

const measureCommands = async (): Promise<Partial<CommandReport>> => {
  if (!wants('runs') && !wants('output') && !wants('artifacts')) return {};
  say('starts the services');
  const fabric = await CommandFabric.start();
  try {
    if (wants('runs')) say('runs a trivial program');
    const runs = wants('runs') ? await measureRuns(fabric, plan.rounds) : undefined;
    if (wants('output')) say('runs a program that writes much');
    const output = wants('output') ? await measureOutput(fabric, plan.outputBytes) : undefined;
    if (wants('artifacts')) say('writes and reads artifacts');
    const artifacts = wants('artifacts') ? await measureArtifacts(fabric, plan.artifactBytes, plan.copies) : undefined;
    return { ...(runs && { runs }), ...(output && { output }), ...(artifacts && { artifacts }) };
  } finally {
    await fabric.stop();
  }
};

const measureTraces = async (): Promise<Partial<CommandReport>> => {
  if (!wants('traces')) return {};
  say('stores events');
  const store = await measureStore(plan.events);
  say('calls with and without tracing');
  return { store, effect: await measureEffect(plan.slices) };
};

const machine = `${cpus().length} cores, Node ${process.versions.node}. One run of one command; other work on the machine slows it.`;
const report: CommandReport = { machine, ...(await measureCommands()), ...(await measureTraces()) };
const text = renderCommands(report);
console.log(text);
if (options.document !== undefined)
  writeFileSync(options.document, replaceNumbers(readFileSync(options.document, 'utf8'), text));
const missed = missedIn(report);
for (const { name, value, limit } of missed) console.error(`missed: ${name}: ${value.toFixed(2)}, at most ${limit}`);
if (missed.length > 0 && !options['no-assert']) process.exitCode = 1;
