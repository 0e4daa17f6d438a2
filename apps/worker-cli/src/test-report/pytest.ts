import { countOf, Failures, type ReportReader } from './test-report.ts';

const TOTALS =
  /^=*\s*((?:\d+ (?:passed|failed|skipped|errors?|xfailed|xpassed|deselected|warnings?|rerun)(?:, )?)+|no tests ran) in [\d.]+s/;
const TITLE = /^_{3,} (?:ERROR (?:collecting|at setup of|at teardown of) )?(.+?) _{3,}$/;
const PLACE = /^(\S+?):(\d+): \w+/;
const SUMMARY = /^(?:FAILED|ERROR) (\S+?)(?:::(\S.*?))?(?: - (.*))?$/;

/** The bodies tell the places, the summary at the end tells the names: they are put together by the last part. */
export const pytest = (): ReportReader => {
  const places = new Map<string, { file: string; line: string }>();
  const failures = new Failures();
  let totals: string | undefined;
  let title: string | undefined;
  return {
    line(text) {
      totals = TOTALS.exec(text)?.[1] ?? totals;
      title = TITLE.exec(text)?.[1] ?? title;
      const [, file, line = ''] = PLACE.exec(text) ?? [];
      // The last place of a body is where it failed, the ones before it are the way there.
      if (title !== undefined && file !== undefined && places.size < 1_000) places.set(title, { file, line });
      const [, path, name, message] = SUMMARY.exec(text) ?? [];
      if (path === undefined) return;
      failures.begin(name === undefined ? path : `${path}::${name}`);
      const place = places.get((name ?? path).replaceAll('::', '.'));
      if (place !== undefined) failures.at(place.file, place.line);
      if (message !== undefined) failures.say(message);
      failures.close();
      title = undefined;
    },
    report() {
      if (totals === undefined) return undefined;
      return failures.report('pytest', {
        passed: countOf(totals, 'passed') + countOf(totals, 'xpassed'),
        failed: countOf(totals, 'failed') + countOf(totals, 'error'),
        skipped: countOf(totals, 'skipped') + countOf(totals, 'xfailed'),
      });
    },
  };
};
