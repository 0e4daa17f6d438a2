import { PassThrough } from 'node:stream';
import { FabricError } from '@toolfabric/kernel';
import { createRedactor } from '@toolfabric/results';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { ConfinedEnd } from '../confine/run-confined.ts';
import { refuseGitEnd } from '../git/run-git.ts';
import { settleWrite } from '../git/settle-write.ts';
import { OVERHEAD_BYTES } from '../output/json-bytes.ts';
import { headOf } from '../process/head-of.ts';
import { readJunit } from '../test-report/junit.ts';
import { ReportOfStreams } from '../test-report/read-report.ts';
import {
  type CallOptions,
  callTool,
  contextFor,
  type Fixture,
  makeFixture,
  makeWorkspace,
} from '../testing/driver-fixture.ts';
import { putFile } from '../testing/put-file.ts';
import { refuseCloneEnd } from '../workspace/clone-repository.ts';
import type { OpenWorkspace } from '../workspace/open-workspace.ts';
import { showPath } from '../workspace/path-parts.ts';
import { notKept } from '../workspace/snapshot/keep-effect.ts';
import type { WorkspaceRecord } from '../workspace/workspace-record.ts';
import { neverRan } from './process-run.ts';

const SECRET = 'ghp_16C7e42F292c6912E7710c838347Ae178B4a';
const SHOWN = SECRET.slice(0, 6);
/** A text whose cut at `most` falls into the secret, behind so much of it. */
const cutAt = (most: number, behind = 20): string =>
  `${'word '.repeat(most).slice(0, most - behind - 1)} ${SECRET} end`;

const redactor = createRedactor({ secret: Buffer.alloc(32, 1), tenant: 'acme' });
const here = { origin: 'workspace' } as unknown as OpenWorkspace;
/** As the runtime shapes it: what was halved by then is not found. */
const asSent = (told: unknown): string => JSON.stringify(redactor.json(told));
const messageOf = (work: () => unknown): Promise<string> =>
  Promise.resolve()
    .then(work)
    .then(
      (told) => `ended well: ${JSON.stringify(told)}`,
      (thrown: FabricError) => redactor.text(`${thrown.message} ${thrown.details.hint ?? ''}`),
    );

describe('RS-5: a secret that a cut would halve is redacted before', () => {
  let fixture: Fixture;
  let workspace: WorkspaceRecord;
  beforeAll(async () => {
    fixture = await makeFixture();
    workspace = await makeWorkspace(fixture);
  });
  afterAll(() => fixture.remove());
  const call = (handler: string, args: Record<string, unknown>, more: CallOptions = {}) =>
    callTool(fixture.driver, handler, workspace, args, { redactor, ...more });

  it('in a long line that a search shows a part of', async () => {
    await putFile(workspace, 'long.txt', `${cutAt(400)}\n`);
    await putFile(workspace, 'later.txt', `${`${SECRET} `.repeat(20)}${'x'.repeat(500)} needle ${cutAt(279 - 7)}\n`);
    for (const pattern of ['word', 'needle']) {
      const outcome = await call('workspace.search_code', { pattern });
      expect(outcome.data).toMatchObject({ matches_total: pattern === 'word' ? 2 : 1 });
      expect(asSent(outcome)).toContain(pattern);
      expect(asSent(outcome)).not.toContain(SHOWN);
    }
  });

  it.each([520, 535, 550, 565])('in what is said of a pattern that is refused, at %i', async (most) => {
    const said = await messageOf(() => call('workspace.search_code', { pattern: `(${cutAt(most)}` }));
    expect(said).toContain('the pattern is refused');
    expect(said).not.toContain(SHOWN);
  });

  it('in the one line of a file that does not fit', async () => {
    const most = 1_000;
    await putFile(workspace, 'one.txt', cutAt(most - 2) + 'x'.repeat(40_000));
    const outputBytes = OVERHEAD_BYTES + 'one.txt'.length + most;
    const outcome = await call('workspace.read_file', { path: 'one.txt' }, { outputBytes });
    expect(outcome).toMatchObject({ data: { cut_line: true, end_line: 1 }, truncation: [{ stream: 'text' }] });
    expect((outcome.data as { text: string }).text.length).toBeGreaterThan(most - 50);
    expect(asSent(outcome)).not.toContain(SHOWN);
  });

  it('in the diff that an edit stores before it begins', async () => {
    const intents: unknown[] = [];
    const args = { path: 'new.txt', old_text: '', new_text: `${cutAt(4_050)}\n`, expected_sha256: 'absent' };
    const beginEffect = async (intent: unknown) => void intents.push(intent);
    const outcome = await call('workspace.edit_file', args, { beginEffect });
    expect(outcome).toMatchObject({ status: 'ok', sideEffect: 'confirmed' });
    expect(intents).toMatchObject([{ path: 'new.txt' }]);
    expect(JSON.stringify(intents)).toContain('word');
    expect(JSON.stringify(intents)).not.toContain(SHOWN);
  });

  it('in the diff of a command that has no room', async () => {
    await putFile(workspace, `${SECRET}.txt`, 'a\n');
    await putFile(workspace, 'w.mjs', `import fs from 'node:fs'; fs.appendFileSync('${SECRET}.txt', 'b\\n')`);
    const outcome = await call('process.run', { argv: ['node', 'w.mjs'] }, { outputBytes: OVERHEAD_BYTES + 90 });
    expect(outcome).toMatchObject({ status: 'ok', sideEffect: 'confirmed' });
    expect((outcome.data as { diff: string }).diff).toMatch(/^--- a\/./);
    expect(asSent(outcome)).not.toContain(SHOWN);
  });

  it('in the name of a program, and in an argument, that is refused', async () => {
    for (const argv of [[cutAt(100)], ['cat', `--${cutAt(98)}`]]) {
      const said = await messageOf(() => call('process.run', { argv }));
      expect(said).toContain('word');
      expect(said).not.toContain(SHOWN);
    }
  });

  it.each([1_024, 4_096])('in an error that ended a call before anything came of it, at %i', async (most) => {
    const error = new FabricError('tool_failed', cutAt(most), { hint: cutAt(1_024) });
    const told = [neverRan(here, redactor, error), notKept(redactor, error)];
    const beginEffect = () => Promise.reject(error);
    told.push(await call('process.run', { argv: ['true'] }, { beginEffect }));
    for (const outcome of told) {
      expect(outcome).toMatchObject({ status: 'error', sideEffect: 'none', error: { type: 'tool_failed' } });
      expect(outcome.summary).toMatch(/(Nothing ran|Nothing of this call was kept)\.$/);
      expect(outcome.summary.length).toBeLessThanOrEqual(4_096);
      expect(asSent(outcome)).not.toContain(SHOWN);
    }
  });

  it('in one long line of a file whose secrets take more room than their marks', async () => {
    const part = 'A1b2C3d4E5f6G7h8'.repeat(60);
    const token = `eyJhbGciOiJIUzI1NiJ9.eyJ${part}.${part}`;
    for (const before of [0, 1, 400, 900, 1_300, 1_900]) {
      await putFile(workspace, 'line.txt', `${'x'.repeat(before)} ${`${token} `.repeat(40)}`);
      const told = asSent(await call('workspace.read_file', { path: 'line.txt' }, { outputBytes: 12_000 }));
      expect(told).toContain('cut at the output limit');
      expect(told).not.toContain(part.slice(0, 16));
    }
  });

  it('in what a refusal quotes of a text for a shell', async () => {
    for (const behind of [1, 6, 20, 60]) {
      const word = `${'w'.repeat(80 - behind)}-${SECRET}`;
      for (const script of [`${word} a`, `./${word}`, `${word}=1 ls`, `ls --${word}`, `cat a > /${word}`])
        for (const quoted of [script, `ls | ${script}`]) {
          const said = await messageOf(() => call('shell.run', { run: 'run-of-a-test', script: quoted }));
          expect(said).toMatch(/a person has to say yes/);
          expect(said).not.toContain(SECRET.slice(0, 4));
        }
    }
    const short = await messageOf(() => call('shell.run', { run: 'run-of-a-test', script: `ls --x-${SECRET}` }));
    expect(short).toMatch(/^ls: "--x-\[redacted:|Option: ls: /);
    expect(short).not.toContain(SECRET.slice(4));
  });

  it('in what git says', async () => {
    const ctx = contextFor(undefined, { redactor });
    const end = { ending: 'exited', code: 128, errors: `warning\n${cutAt(300)}\n`, limits: new Map() };
    expect(await messageOf(() => refuseGitEnd(end as unknown as ConfinedEnd, ctx))).toMatch(/^git ended .* word/);
    expect(await messageOf(() => refuseGitEnd(end as unknown as ConfinedEnd, ctx))).not.toContain(SHOWN);
    const clone = { ending: 'exited', code: 128, errors: `x\n${cutAt(300)}`, limits: new Map() } as const;
    const said = await messageOf(() => refuseCloneEnd(clone, { source: '/repository', redactor }));
    expect(said).toMatch(/cannot be cloned: word/);
    expect(said).not.toContain(SHOWN);
    const settled = await settleWrite(here, redactor, () => Promise.reject(new FabricError('tool_failed', cutAt(970))));
    expect(settled.status).toBe('unknown');
    expect(asSent(settled)).not.toContain(SHOWN);
  });

  it('in the tests that failed, from a file or through colours', () => {
    const xml = `<testsuite><testcase name="${cutAt(300)}"><failure message="${cutAt(500)}"/></testcase></testsuite>`;
    const told = readJunit(xml, redactor.text);
    expect(told).toMatchObject({ failed: 1, failures: [{ message: expect.stringContaining('word') }] });
    expect(asSent(told)).not.toContain(SHOWN);
    const report = new ReportOfStreams();
    const stream = redactor.stream();
    const coloured = cutAt(300).replace('ghp_16C7e4', 'ghp_16C7\u001b[1me4');
    const text = `TAP version 13\nnot ok 1 - ${coloured}\n1..1\n# tests 1\n# pass 0\n# fail 1\n`;
    report.stdout(stream.push(Buffer.from(text)));
    report.stdout(stream.end());
    const streamed = report.end();
    expect(streamed).toMatchObject({ failed: 1, failures: [{ name: expect.stringContaining('word') }] });
    expect(asSent(streamed)).not.toContain(SHOWN);
  });

  it('where there is nobody to redact it: whole lines of errors, and whole names of a path', async () => {
    const stream = new PassThrough();
    const head = headOf(stream, 100);
    stream.end(`first\n${cutAt(94)}\nlast\n`);
    await new Promise((resolve) => stream.once('end', resolve));
    expect(head.text()).toBe('first\n');
    expect(redactor.text(showPath(`${'d'.repeat(150)}/${'e'.repeat(20)}${SECRET}/f`))).toBe(`"${'d'.repeat(150)}/…"`);
    expect(showPath('d'.repeat(300))).toBe('"…"');
  });
});
