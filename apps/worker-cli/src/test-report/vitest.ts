import { countOf, Failures, type ReportReader } from './test-report.ts';

const FAILED = /^\s*FAIL\s+(?:\|[^|]+\|\s+)?(\S.*?)(?: > (.+)| \[ .+ \])$/;
const PLACE = /^ ❯ (?:.*\s)?([^\s:]+):(\d+):\d+$/;

export const vitest = (): ReportReader => {
  const failures = new Failures();
  let totals: string | undefined;
  let files: string | undefined;
  return {
    line(text) {
      if (/^\s+Test Files\s+\d+ /.test(text)) files = text;
      if (/^\s+Tests\s+(\d+ |no tests)/.test(text)) totals = text;
      const [, file, name] = FAILED.exec(text) ?? [];
      if (file !== undefined) return failures.begin(name === undefined ? file : `${file} > ${name}`);
      const [, place, line = ''] = PLACE.exec(text) ?? [];
      if (place !== undefined) return failures.at(place, line);
      if (text.startsWith('⎯⎯')) failures.close();
      else failures.say(text);
    },
    report() {
      if (totals === undefined || files === undefined) return undefined;
      const skipped = countOf(totals, 'skipped') + countOf(totals, 'todo');
      // A file that cannot be loaded has no test that could have failed.
      const failed = Math.max(countOf(totals, 'failed'), failures.size);
      return failures.report('vitest', { passed: countOf(totals, 'passed'), failed, skipped });
    },
  };
};
