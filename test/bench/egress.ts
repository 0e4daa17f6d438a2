/**
 * `npm run bench egress`: what the one way out adds to a connection, what `url.fetch` adds to a plain fetch, how well it
 * finds the main text of a page, and what searching costs. Ends with 1 when something that must hold does not.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { cpus } from 'node:os';
import { parseArgs } from 'node:util';
import { replaceNumbers, table } from './call-path/markdown.ts';
import { isMet } from './call-path/musts.ts';
import { DOOR } from './egress/door.ts';
import type { Part } from './egress/part.ts';
import { SEARCH } from './egress/search.ts';
import { EXTRACTION, FETCH } from './egress/web-parts.ts';

const PARTS: readonly Part[] = [DOOR, FETCH, EXTRACTION, SEARCH];
const NAMES = PARTS.map(({ name }) => name);
const USAGE = `usage: npm run bench egress -- [--quick] [--no-assert] [--only ${NAMES.join('|')}] [--document FILE]`;

const readOptions = () => {
  try {
    const { values } = parseArgs({
      options: {
        quick: { type: 'boolean', default: false },
        'no-assert': { type: 'boolean', default: false },
        only: { type: 'string', multiple: true, default: NAMES },
        document: { type: 'string' },
      },
    });
    const unknown = values.only.find((name) => !NAMES.includes(name));
    if (unknown !== undefined) throw new Error(`there is no part ${unknown}`);
    return values;
  } catch (thrown) {
    console.error(`${thrown instanceof Error ? thrown.message : thrown}\n\n${USAGE}`);
    process.exit(2);
  }
};

const options = readOptions();
const measured = [];
for (const part of PARTS.filter(({ name }) => options.only.includes(name))) {
  console.error(`bench: ${part.name}`);
  measured.push({ part, ...(await part.measure(options.quick)) });
}
const musts = measured.flatMap((one) => one.musts);
const text = [
  `${cpus().length} cores, Node ${process.versions.node}. One run of one command; other work on the machine slows it.`,
  table(
    ['What must hold', 'measured', 'must be', 'holds'],
    musts.map((one) => [
      one.name,
      one.value,
      `at ${one.atMost ? 'most' : 'least'} ${one.limit}`,
      isMet(one) ? 'yes' : 'no',
    ]),
  ),
  ...measured.map(({ part, text: own }) => `### ${part.heading}\n\n${own}`),
].join('\n\n');
console.log(text);
if (options.document !== undefined)
  writeFileSync(options.document, replaceNumbers(readFileSync(options.document, 'utf8'), text));
const missed = musts.filter((one) => !isMet(one));
for (const { name, value, limit } of missed) console.error(`missed: ${name}: ${value.toFixed(3)}, limit ${limit}`);
if (missed.length > 0 && !options['no-assert']) process.exitCode = 1;
