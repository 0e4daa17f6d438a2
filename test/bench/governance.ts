/**
 * `npm run bench governance`: what policy, approvals, budgets and quotas cost a call, what a flood of one tenant costs
 * the others, and what the analysis of shell texts is worth. Ends with 1 when something that must hold does not.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { cpus } from 'node:os';
import { parseArgs } from 'node:util';
import { replaceNumbers } from './call-path/markdown.ts';
import { type GovernanceReport, missedIn, renderGovernance } from './governance/markdown.ts';
import { measureDecisions } from './governance/measure-decisions.ts';
import { measureFlood } from './governance/measure-flood.ts';
import { measurePath } from './governance/measure-path.ts';
import { measureShell } from './governance/measure-shell.ts';

const PARTS = ['decisions', 'path', 'flood', 'shell'] as const;
const USAGE = `usage: npm run bench governance -- [--quick] [--no-assert] [--only ${PARTS.join('|')}] [--document FILE]`;

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
  ? { decisions: 500, rounds: 5, pending: 2_000, floodMs: 4_000, strings: 400 }
  : { decisions: 3_000, rounds: 20, pending: 10_000, floodMs: 10_000, strings: 4_000 };
const wants = (part: (typeof PARTS)[number]) => options.only.includes(part);
const say = (text: string) => console.error(`bench: ${text}`);

const measure = async (): Promise<GovernanceReport> => {
  const machine = `${cpus().length} cores, Node ${process.versions.node}. One run of one command; other work on the machine slows it.`;
  if (wants('decisions')) say('decides');
  const decisions = wants('decisions') ? { decisions: measureDecisions(plan.decisions) } : {};
  if (wants('path')) say('calls under more and under fewer rules');
  const path = wants('path') ? { path: await measurePath(plan.rounds, plan.pending) } : {};
  if (wants('flood')) say('one tenant floods');
  const flood = wants('flood') ? { flood: await measureFlood(plan.floodMs) } : {};
  if (wants('shell')) say('analyses shell texts');
  const shell = wants('shell') ? { shell: await measureShell(plan.strings) } : {};
  return { machine, ...decisions, ...path, ...flood, ...shell };
};

const report = await measure();
const text = renderGovernance(report);
console.log(text);
if (options.document !== undefined)
  writeFileSync(options.document, replaceNumbers(readFileSync(options.document, 'utf8'), text));
const missed = missedIn(report);
for (const { name, value, limit } of missed) console.error(`missed: ${name}: ${value.toFixed(2)}, at most ${limit}`);
if (missed.length > 0 && !options['no-assert']) process.exitCode = 1;
