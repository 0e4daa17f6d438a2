import { Failures, FRAME, type ReportReader } from './test-report.ts';

const COUNT = /^ℹ (pass|fail|cancelled|skipped|todo) (\d+)$/;
const PLACE = /^test at (.*):(\d+):\d+$/;
const FAILED = /^✖ (.*?)( \([\d.]+ms\))?$/;

/** `node --test` as people read it: counts, then every failure once more with its place. */
export const nodeSpec = (): ReportReader => {
  const failures = new Failures();
  const counts = new Map<string, number>();
  let inFailures = false;
  let place: { file: string; line: string } | undefined;
  return {
    line(text) {
      const [, word = '', count = ''] = COUNT.exec(text) ?? [];
      if (word !== '') counts.set(word, Number(count));
      if (text.startsWith('✖ failing tests')) inFailures = true;
      if (!inFailures) return;
      const [, file, line = ''] = PLACE.exec(text) ?? [];
      if (file !== undefined) {
        place = { file, line };
        return;
      }
      const [, name] = FAILED.exec(text) ?? [];
      if (name !== undefined && place !== undefined) {
        failures.begin(name);
        failures.at(place.file, place.line);
        place = undefined;
        return;
      }
      const [, frame, at = ''] = FRAME.exec(text) ?? [];
      if (frame === undefined) failures.say(text);
      else failures.refine(frame, at);
    },
    report() {
      if (!counts.has('pass')) return undefined;
      const of = (word: string) => counts.get(word) ?? 0;
      return failures.report('node', {
        passed: of('pass'),
        failed: of('fail') + of('cancelled'),
        skipped: of('skipped') + of('todo'),
      });
    },
  };
};
