import { Failures, FRAME, type ReportReader } from './test-report.ts';

const RESULT = /^\s*(not ok|ok) \d+ - (.*)$/;
const FIELD = /^\s+(location|failureType|error): (.*)$/;
const COUNT = /^# (pass|fail|cancelled|skipped|todo) (\d+)$/;

const unquoted = (text: string): string => text.replace(/^'(.*)'$/, '$1');

/** `node --test` in TAP. What failed only since something in it failed is no failure of its own. */
export const nodeTap = (): ReportReader => {
  const failures = new Failures();
  const counts = new Map<string, number>();
  let isTap = false;
  let message = false;
  return {
    line(text) {
      if (text.startsWith('TAP version ')) isTap = true;
      if (!isTap) return;
      const [, verdict, name = ''] = RESULT.exec(text) ?? [];
      if (verdict !== undefined) {
        message = false;
        if (verdict === 'ok' || /# (SKIP|TODO)/.test(name)) return failures.close();
        return failures.begin(name);
      }
      if (message) {
        message = false;
        return failures.say(text);
      }
      const [, field, value = ''] = FIELD.exec(text) ?? [];
      if (field === 'failureType' && unquoted(value) === 'subtestsFailed') failures.drop();
      if (field === 'location') {
        const [, file = '', line = ''] = /^(.*):(\d+):\d+$/.exec(unquoted(value)) ?? [];
        if (file !== '') failures.at(file, line);
      }
      if (field === 'error') message = /^\|/.test(value);
      if (field === 'error' && !message) failures.say(unquoted(value));
      const [, frame, at = ''] = field === undefined ? (FRAME.exec(text) ?? []) : [];
      if (frame !== undefined) failures.refine(frame, at);
      const [, word = '', count = ''] = COUNT.exec(text) ?? [];
      if (word !== '') counts.set(word, Number(count));
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
