import { countOf, Failures, type ReportReader } from './test-report.ts';

const FAILED = /^ {2}● (?!Console)(.+)$/;
const PLACE = /^\s+at .*?\(?([^()\s]+):(\d+):\d+\)?$/;

export const jest = (): ReportReader => {
  const failures = new Failures();
  let totals: string | undefined;
  let suites = 0;
  return {
    line(text) {
      if (text.startsWith('Tests:  ')) totals = text;
      if (text.startsWith('Test Suites: ')) suites = countOf(text, 'failed');
      const [, name] = FAILED.exec(text) ?? [];
      if (name !== undefined && totals === undefined) return failures.begin(name);
      const [, file, line = ''] = PLACE.exec(text) ?? [];
      if (file !== undefined && !file.includes('node_modules') && !file.startsWith('node:'))
        return failures.at(file, line);
      if (/^ {4}\S/.test(text)) failures.say(text);
    },
    report() {
      if (totals === undefined) return undefined;
      const failed = Math.max(countOf(totals, 'failed'), suites > 0 ? failures.size : 0);
      const skipped = countOf(totals, 'skipped') + countOf(totals, 'todo');
      return failures.report('jest', { passed: countOf(totals, 'passed'), failed, skipped });
    },
  };
};
