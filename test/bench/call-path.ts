/**
 * `npm run bench call-path`: what one call costs, from the caller's gRPC request to its answer, beside what the bus
 * and the machine cost by themselves in the same run. Ends with 1 when a limit is missed.
 */
import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { cpus, loadavg } from 'node:os';
import { BenchFabric } from './call-path/bench-fabric.ts';
import { type HopReport, measureHops } from './call-path/hops.ts';
import { LoadClient } from './call-path/load-client.ts';
import { renderMarkdown, replaceNumbers } from './call-path/markdown.ts';
import { measureAgainst } from './call-path/measure-against.ts';
import { measureNumbers, type Numbers } from './call-path/measure-numbers.ts';
import { measureProfiles } from './call-path/measure-profiles.ts';
import { measureScale } from './call-path/measure-scale.ts';
import { isMet } from './call-path/musts.ts';
import { type Options, parseOptions, USAGE } from './call-path/options.ts';
import { FULL, type Plan, QUICK, SCALE } from './call-path/plan.ts';
import { type Report, renderReport } from './call-path/report.ts';
import { openFabric } from './call-path/warm-up.ts';

const say = (text: string) => console.error(`bench: ${text}`);

const systemName = (): string =>
  /^PRETTY_NAME="(.*)"$/m.exec(readFileSync('/etc/os-release', 'utf8'))?.[1] ?? 'unknown';

const machineOf = (): Report['machine'] => ({
  cores: cpus().length,
  system: systemName(),
  node: process.versions.node,
  bus: execFileSync('nats-server', ['-v'], { encoding: 'utf8' }).replace(/^.*v/, '').trim(),
  loadBefore: loadavg()[0] ?? 0,
});

const NO_NUMBERS: Numbers = { rows: [], others: {}, idleCpu: {}, memory: {}, musts: [] };

const measureMain = async (
  { parts }: Options,
  caller: LoadClient,
  plan: Plan,
): Promise<{ numbers: Numbers; hops: HopReport | undefined }> => {
  if (!parts.includes('numbers') && !parts.includes('hops')) return { numbers: NO_NUMBERS, hops: undefined };
  say('starts the services');
  const fabric = await BenchFabric.start({ tools: SCALE.fewTools, tenants: SCALE.fewTenants });
  try {
    await openFabric(caller, 'main', fabric, plan.warmUpCalls);
    say('measures at 1, 8 and 64 callers');
    const numbers = parts.includes('numbers') ? await measureNumbers(fabric, caller, plan) : NO_NUMBERS;
    if (parts.includes('hops')) say('listens where the time goes');
    const hops = parts.includes('hops') ? await measureHops(fabric, caller, plan.hopCalls) : undefined;
    await caller.ask({ type: 'close-fabric', fabric: 'main' });
    return { numbers, hops };
  } finally {
    await fabric.stop();
  }
};

const measure = async (options: Options): Promise<Report> => {
  const plan = options.quick ? QUICK : FULL;
  const machine = machineOf();
  const caller = new LoadClient();
  try {
    const { numbers, hops } = await measureMain(options, caller, plan);
    const withScale = options.parts.includes('scale');
    if (withScale) say('measures few and many tools and tenants');
    const { scale, musts } = withScale ? await measureScale(caller, plan) : { scale: [], musts: [] };
    if (options.profile) say('profiles the services');
    const profiles = options.profile ? await measureProfiles(caller, plan) : {};
    const all = [...numbers.musts, ...musts];
    if (options.against !== undefined) {
      const against = await measureAgainst(caller, plan, options.against);
      return { machine, quick: options.quick, ...NO_NUMBERS, hops, profiles, ...against };
    }
    return { machine, quick: options.quick, ...numbers, scale, hops, profiles, musts: all };
  } finally {
    caller.stop();
  }
};

const optionsOrUsage = (): Options => {
  try {
    return parseOptions(process.argv.slice(2));
  } catch (thrown) {
    console.error(`${thrown instanceof Error ? thrown.message : thrown}\n\n${USAGE}`);
    process.exit(2);
  }
};

const options = optionsOrUsage();
const report = await measure(options);
console.log(renderReport(report));
if (options.json !== undefined) writeFileSync(options.json, `${JSON.stringify(report, null, 2)}\n`);
if (options.document !== undefined)
  writeFileSync(options.document, replaceNumbers(readFileSync(options.document, 'utf8'), renderMarkdown(report)));
if (options.assert && !report.musts.every(isMet)) process.exitCode = 1;
