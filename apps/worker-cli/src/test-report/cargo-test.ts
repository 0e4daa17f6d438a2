import { countOf, Failures, type ReportReader } from './test-report.ts';

const TOTALS = /^test result: (?:ok|FAILED)\. (.*)$/;
const BODY = /^---- (.+) stdout ----$/;
const FAILED = /^test (.+) \.\.\. FAILED$/;
const PLACE = /^thread '.*?'(?: \(\d+\))? panicked at (?:'(.*)', )?(\S+?):(\d+):\d+:?$/;

/** One block of totals for each test program. */
export const cargoTest = (): ReportReader => {
  const failures = new Failures();
  const counts = { passed: 0, failed: 0, skipped: 0 };
  let blocks = 0;
  return {
    line(text) {
      const totals = TOTALS.exec(text)?.[1];
      if (totals !== undefined) {
        blocks += 1;
        counts.passed += countOf(totals, 'passed');
        counts.failed += countOf(totals, 'failed');
        counts.skipped += countOf(totals, 'ignored');
        return failures.close();
      }
      const name = BODY.exec(text)?.[1];
      if (name !== undefined) return failures.begin(name);
      const failed = FAILED.exec(text)?.[1];
      if (failed !== undefined) {
        failures.begin(failed);
        return failures.close();
      }
      const [, said, file, line = ''] = PLACE.exec(text) ?? [];
      if (file !== undefined) {
        failures.at(file, line);
        if (said !== undefined) failures.say(said);
        return;
      }
      failures.say(text);
    },
    report: () => (blocks === 0 ? undefined : failures.report('cargo', counts)),
  };
};
