import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { readJunit } from './junit.ts';
import { ReportOfStreams } from './read-report.ts';
import { workspacePathOf } from './workspace-path.ts';

const sample = (name: string): Buffer => readFileSync(new URL(`./samples/${name}`, import.meta.url));

const read = (bytes: Buffer, step = bytes.length) => {
  const report = new ReportOfStreams();
  for (let at = 0; at < bytes.length; at += step) report.stdout(bytes.subarray(at, at + step));
  return report.end();
};

const places = (name: string) =>
  read(sample(name))?.failures.map((failure) => `${failure.name} @ ${failure.file}:${failure.line}`);

const asIs = (text: string): string => text;

describe('CL-2: reports of test runners', () => {
  it.each([
    ['node-tap.txt', 'node', [1, 2, 1]],
    ['node-spec.txt', 'node', [1, 2, 1]],
    ['vitest.txt', 'vitest', [1, 3, 1]],
    ['jest.txt', 'jest', [1, 2, 1]],
    ['mocha.txt', 'mocha', [1, 2, 1]],
    ['pytest.txt', 'pytest', [2, 3, 1]],
    ['pytest-q.txt', 'pytest', [2, 3, 1]],
    ['cargo.txt', 'cargo', [1, 1, 1]],
    ['go.txt', 'go', [1, 3, 0]],
  ])('%s: counts', (name, runner, [passed, failed, skipped]) => {
    expect(read(sample(name))).toMatchObject({ runner, passed, failed, skipped });
  });

  it('names, files and lines of what failed', () => {
    expect(places('node-tap.txt')).toEqual([
      'fails > hard @ /workspace/test/a.test.js:6',
      'throws @ /workspace/test/a.test.js:10',
    ]);
    expect(places('node-spec.txt')).toEqual(['fails > hard @ test/a.test.js:6', 'throws @ test/a.test.js:10']);
    expect(places('vitest.txt')).toEqual([
      'vt/broken.test.ts @ vt/broken.test.ts:1',
      'vt/v.test.ts > sums > fails > hard @ vt/v.test.ts:4',
      'vt/v.test.ts > throws @ vt/v.test.ts:8',
    ]);
    expect(places('jest.txt')).toEqual(['sums › fails > hard @ test/a.test.js:6', 'throws @ test/a.test.js:10']);
    expect(places('mocha.txt')).toEqual(['throws @ mt/a.test.js:9', 'sums > fails > hard @ mt/a.test.js:5']);
    expect(places('pytest.txt')).toEqual([
      'tests/test_a.py::test_bad @ tests/test_a.py:5',
      'tests/test_a.py::TestC::test_p[2] @ tests/test_a.py:9',
      'tests/test_a.py::test_raise @ tests/test_a.py:13',
    ]);
    expect(places('cargo.txt')).toEqual(['tests::bad @ src/lib.rs:7']);
    expect(places('go.txt')).toContain('TestSum/negative @ sum_test.go:14');
  });

  it('does not depend on where the stream is cut, nor on colours', () => {
    for (const name of ['node-tap.txt', 'vitest.txt', 'pytest.txt']) {
      const bytes = sample(name);
      expect(read(bytes, 1)).toEqual(read(bytes));
      const coloured = bytes.toString().replace(/^(.+)$/gm, '\u001b[31m$1\u001b[39m');
      expect(read(Buffer.from(coloured), 7)).toEqual(read(bytes));
    }
  });

  it('says nothing of output that is of no runner, and is not led by text that only looks like one', () => {
    expect(read(Buffer.from('compiled 3 files\n1 passed the gate\n'))).toBeUndefined();
    expect(read(Buffer.from('✖ failing tests:\n'))).toBeUndefined();
    expect(read(Buffer.alloc(0))).toBeUndefined();
  });

  it('RS-3: a line of 50 MB and a million failures take bounded memory', () => {
    const report = new ReportOfStreams();
    report.stdout(Buffer.from('TAP version 13\n'));
    const piece = Buffer.alloc(1024 * 1024, 'x');
    const before = process.memoryUsage().rss;
    for (let step = 0; step < 50; step += 1) report.stdout(piece);
    report.stdout(Buffer.from('\n'));
    const many = Buffer.from(Array.from({ length: 1000 }, (_, index) => `not ok ${index} - name ${index}\n`).join(''));
    for (let step = 0; step < 100; step += 1) report.stdout(many);
    report.stdout(Buffer.from('# pass 0\n# fail 100000\n'));
    const end = report.end();
    expect(end?.failures.length).toBe(100);
    expect(end?.failed).toBe(100_000);
    expect(process.memoryUsage().rss - before).toBeLessThan(120 * 1024 * 1024);
  });

  it('reads JUnit files', () => {
    expect(readJunit(sample('junit.xml').toString(), asIs)).toEqual({
      runner: 'junit',
      passed: 1,
      failed: 1,
      skipped: 1,
      moreFailures: 0,
      failures: [{ name: 'calc.Sum > fails > hard', file: 'src/sum.ts', line: 12, message: 'expected 2 to be "3"' }],
    });
    expect(readJunit('<html></html>', asIs)).toBeUndefined();
  });

  it.each([
    ['cases that never end', '<testcase>'],
    ['openings that never end', '<testcase '],
    ['failures that never end', '<testcase><failure '],
    ['attributes that never end', '<testcase name="'],
    ['suites', '<testsuite'],
  ])(
    'a JUnit file of %s is read in one pass',
    (_, part) => {
      for (let time = 0; time < 20; time += 1)
        expect(readJunit(`<testsuite>${part.repeat(20_000)}`, asIs)).toBeUndefined();
    },
    5_000,
  );

  it('reads a JUnit case behind one that is none, and a body with cases in its text', () => {
    const xml =
      '<testsuite><testcases/><testcase name="a"/><testcase name="b"><failure/><testcase</testcase></testsuite>';
    expect(readJunit(xml, asIs)).toMatchObject({ passed: 1, failed: 1, failures: [{ name: 'b' }] });
  });

  it('turns what a runner wrote into a path of the workspace, and nothing else', () => {
    expect(workspacePathOf('file:///workspace/a/b.ts', '/workspace', '')).toBe('a/b.ts');
    expect(workspacePathOf('b.ts', '/workspace', 'a')).toBe('a/b.ts');
    expect(workspacePathOf('./b.ts', '/workspace', '')).toBe('b.ts');
    expect(workspacePathOf('../../etc/passwd', '/workspace', '')).toBeUndefined();
    expect(workspacePathOf('/usr/lib/node/x.js', '/workspace', '')).toBeUndefined();
    expect(workspacePathOf('/workspace-other/x', '/workspace', '')).toBeUndefined();
  });
});
