import { Failures, type ReportReader } from './test-report.ts';

const RESULT = /^\s*--- (PASS|FAIL|SKIP): (\S+)/;
const PACKAGE = /^(ok|FAIL|---)\s+(\S+)\s+(\(cached\)|[\d.]+s|\[build failed\]|\[setup failed\])/;
const PLACE = /^\s+(\S+\.go):(\d+): ?(.*)$/;
const BUILD = /^(\S+\.go):(\d+):\d+: (.*)$/;

/** A line of `go test -json`, as the line of text that it stands for. */
const textOf = (text: string): string => {
  if (!text.startsWith('{"')) return text;
  try {
    const event: unknown = JSON.parse(text);
    const { Output: output } = event as { Output?: unknown };
    return typeof output === 'string' ? output.replace(/\n$/, '') : '';
  } catch {
    return text;
  }
};

/** Without `-v` go names only what failed: then the packages that are ok count as passed. */
export const goTest = (): ReportReader => {
  const failures = new Failures();
  const counts = { PASS: 0, FAIL: 0, SKIP: 0 };
  let packages = 0;
  let passedPackages = 0;
  let broken = 0;
  return {
    line(raw) {
      const text = textOf(raw);
      const [, verdict, name = ''] = RESULT.exec(text) ?? [];
      if (verdict !== undefined) {
        counts[verdict as keyof typeof counts] += 1;
        return verdict === 'FAIL' ? failures.begin(name) : failures.close();
      }
      const [, outcome, path = '', how = ''] = PACKAGE.exec(text) ?? [];
      if (outcome !== undefined) {
        packages += 1;
        if (outcome === 'ok') passedPackages += 1;
        else if (how.startsWith('[')) {
          broken += 1;
          failures.begin(`${path} ${how}`);
        }
        return failures.close();
      }
      const [, file, line = '', message = ''] = PLACE.exec(text) ?? BUILD.exec(text) ?? [];
      if (file === undefined) return;
      failures.at(file, line);
      failures.say(message);
    },
    report() {
      if (packages === 0) return undefined;
      const verbose = counts.PASS > 0;
      return failures.report('go', {
        passed: verbose ? counts.PASS : passedPackages,
        failed: counts.FAIL + broken,
        skipped: counts.SKIP,
      });
    },
  };
};
