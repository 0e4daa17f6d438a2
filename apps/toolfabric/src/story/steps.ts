import type { Trace } from '@toolfabric/client';
import type { CallView } from '@toolfabric/contract';
import type { Json } from '@toolfabric/kernel';
import { z } from 'zod';
import { drawTrace } from '../cli/draw-trace.ts';
import { errorOf, expectThat, okData } from './checks.ts';

export interface Story {
  /** What one step found out and a later one needs. */
  readonly memory: { hash?: string; background?: string };
  call(tool: string, args: Record<string, Json>): Promise<CallView>;
  /** Proposes a call that runs apart from any wait; gives its handle. */
  background(tool: string, args: Record<string, Json>): Promise<CallView>;
  /** The pieces of the log of a call, until it has ended. */
  log(callId: string): AsyncIterable<string>;
  get(callId: string): Promise<CallView>;
  /** What is stored about a call, once it is there. */
  trace(callId: string): Promise<Trace>;
}

export interface StepEnd {
  readonly call: CallView;
  /** Lines of it that a person should see. */
  readonly shows: readonly string[];
}

export interface Step {
  readonly name: string;
  run(story: Story): Promise<StepEnd>;
}

const FILE = 'src/basket.js';
const OLD_TEXT = `  // FIXME: shipping is decided before the discount, so a code can make shipping free by mistake.
  const shipping = sum >= FREE_SHIPPING_FROM ? 0 : SHIPPING;
  return sum - discountFor(code, sum) + shipping;
`;
const NEW_TEXT = `  const goods = sum - discountFor(code, sum);
  return goods + (goods >= FREE_SHIPPING_FROM ? 0 : SHIPPING);
`;

const Listing = z.looseObject({ files: z.array(z.string()), files_total: z.int() });
const Content = z.looseObject({ text: z.string(), sha256: z.string() });
const Edited = z.looseObject({ diff: z.string(), before_sha256: z.string(), after_sha256: z.string() });

const list: Step = {
  name: 'list the files',
  run: async ({ call }) => {
    const view = await call('workspace.list_files', {});
    const { files } = okData(view, Listing);
    expectThat(files.includes(FILE) && files.includes('README.md'), `${FILE} and README.md among the files`);
    return { call: view, shows: [files.join('  ')] };
  },
};

const search: Step = {
  name: 'search for FIXME',
  run: async ({ call }) => {
    const view = await call('workspace.search_code', { pattern: 'FIXME', glob: '*.js' });
    const data = okData(view, z.looseObject({ matches_total: z.int() }));
    expectThat(data.matches_total === 1, 'one match');
    expectThat(JSON.stringify(data).includes(FILE), `the match in ${FILE}`);
    return { call: view, shows: [view.result?.summary ?? ''] };
  },
};

const read: Step = {
  name: 'read the file',
  run: async ({ call, memory }) => {
    const view = await call('workspace.read_file', { path: FILE });
    const { text, sha256 } = okData(view, Content);
    expectThat(text.includes(OLD_TEXT), 'the text that is to change');
    memory.hash = sha256;
    return { call: view, shows: [`sha256 ${sha256}`] };
  },
};

const Tests = z.looseObject({
  verdict: z.enum(['passed', 'failed', 'not_run']),
  survivors: z.int(),
  tests: z.looseObject({
    passed: z.int(),
    failed: z.int(),
    failures: z.array(z.looseObject({ name: z.string(), file: z.string().optional(), line: z.int().optional() })),
  }),
});

const failingTests: Step = {
  name: 'run the tests',
  run: async ({ call }) => {
    const view = await call('test.run', {});
    const { verdict, tests, survivors } = okData(view, Tests);
    expectThat(verdict === 'failed' && tests.failed === 1, 'one failing test');
    expectThat(survivors === 0, 'no process left over');
    const [failure] = tests.failures;
    expectThat(failure?.file === 'test/basket.test.js' && failure.line !== undefined, 'its file and line');
    return { call: view, shows: [`${failure?.file}:${failure?.line}  ${failure?.name}`] };
  },
};

const passingTests: Step = {
  name: 'run the tests again',
  run: async ({ call }) => {
    const view = await call('test.run', {});
    const { verdict, tests } = okData(view, Tests);
    expectThat(verdict === 'passed' && tests.failed === 0, 'tests that pass');
    return { call: view, shows: [view.result?.summary ?? ''] };
  },
};

const diff: Step = {
  name: 'show what changed',
  run: async ({ call }) => {
    const view = await call('git.diff', {});
    const { diff: text } = okData(view, z.looseObject({ diff: z.string() }));
    expectThat(text.includes(`+++ b/${FILE}`) && text.includes('+  const goods'), 'the edit in the diff');
    return { call: view, shows: text.split('\n').filter((line) => /^[-+]/.test(line)) };
  },
};

const MONTHS = 8;

const background: Step = {
  name: 'start a long report',
  run: async ({ background: start, log, get, memory }) => {
    const handle = await start('process.run', { argv: ['node', 'scripts/year.js'] });
    expectThat(handle.state === 'queued' || handle.state === 'running', 'a handle while it runs');
    memory.background = handle.callId;
    let text = '';
    let whileRunning = 0;
    for await (const piece of log(handle.callId)) {
      text += piece;
      if ((await get(handle.callId)).state === 'running') whileRunning += piece.length;
    }
    const view = await get(handle.callId);
    okData(view, z.looseObject({ exit_code: z.literal(0), survivors: z.literal(0) }));
    const lines = text.trimEnd().split('\n');
    expectThat(lines.length === MONTHS, `${MONTHS} lines in the log`);
    expectThat(whileRunning > 0, 'a part of the log while it ran');
    return { call: view, shows: [`${lines[0]} … ${lines.at(-1)}  (read while it ran)`] };
  },
};

const traced: Step = {
  name: 'look at its trace',
  run: async ({ trace, get, memory }) => {
    const callId = memory.background ?? '';
    const found = await trace(callId);
    expectThat(found.call?.tool === 'process.run', 'the call in the trace store');
    return { call: await get(callId), shows: drawTrace(callId, { ...found, payloads: [] }).split('\n') };
  },
};

const edit: Step = {
  name: 'edit it',
  run: async ({ call, memory }) => {
    const view = await call('workspace.edit_file', editArguments(memory.hash));
    const { diff, before_sha256 } = okData(view, Edited);
    expectThat(before_sha256 === memory.hash, 'the hash that was read before');
    expectThat(view.result?.sideEffect === 'confirmed', 'a confirmed side effect');
    return { call: view, shows: diff.trimEnd().split('\n') };
  },
};

const editArguments = (hash: string | undefined): Record<string, Json> => ({
  path: FILE,
  old_text: OLD_TEXT,
  new_text: NEW_TEXT,
  expected_sha256: hash ?? '',
});

const staleEdit: Step = {
  name: 'edit with the old hash',
  run: async ({ call, memory }) => {
    const view = await call('workspace.edit_file', editArguments(memory.hash));
    const error = errorOf(view, 'stale_version');
    return { call: view, shows: [`refused: ${error.message}`, `hint: ${error.hint ?? ''}`] };
  },
};

/** As a model might get it wrong: a number as text, and a field that does not exist. */
const badArguments: Step = {
  name: 'read with bad arguments',
  run: async ({ call }) => {
    const view = await call('workspace.read_file', { path: FILE, start_line: 'eight', lines: 6 });
    const { fields = [] } = errorOf(view, 'invalid_arguments');
    expectThat(
      fields.some(({ field }) => field === '/start_line'),
      'the field /start_line named',
    );
    expectThat(
      fields.some(({ field }) => field.includes('lines')),
      'the unknown field named',
    );
    const shows = fields.map(
      ({ field, expected, got }) => `${field}: expected ${expected}${got ? `, got ${got}` : ''}`,
    );
    return { call: view, shows };
  },
};

const repaired: Step = {
  name: 'read again, repaired',
  run: async ({ call, memory }) => {
    const view = await call('workspace.read_file', { path: FILE, start_line: 8, end_line: 13 });
    const { text, sha256 } = okData(view, Content);
    expectThat(text.includes(NEW_TEXT), 'the new text');
    expectThat(sha256 !== memory.hash, 'another hash than before the edit');
    return { call: view, shows: text.trimEnd().split('\n') };
  },
};

export const STEPS: readonly Step[] = [
  list,
  failingTests,
  search,
  read,
  edit,
  staleEdit,
  badArguments,
  repaired,
  passingTests,
  diff,
  background,
];

/** The last step, where there is a trace store. */
export const TRACE_STEP = traced;
