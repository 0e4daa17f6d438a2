import { Failures, type ReportReader } from './test-report.ts';

const COUNT = /^ {2}(\d+) (passing|failing|pending)\b/;
const FAILED = /^ {2}\d+\) (.+)$/;
const PLACE = /^\s+at .*?\(?(?:file:\/\/)?([^()\s]+):(\d+):\d+\)?$/;

/** The failures come after the counts; a name takes a line for each of its levels and ends with a colon. */
export const mocha = (): ReportReader => {
  const failures = new Failures();
  const counts = new Map<string, number>();
  let name: string[] | undefined;
  return {
    line(text) {
      const [, count = '', word = ''] = COUNT.exec(text) ?? [];
      if (word !== '') counts.set(word, Number(count));
      if (!counts.has('failing')) return;
      const [, first] = FAILED.exec(text) ?? [];
      if (first !== undefined) name = [first];
      else if (name !== undefined && /^ {7,}\S/.test(text)) name.push(text.trim());
      if (name !== undefined) {
        const last = name.at(-1) ?? '';
        if (!last.endsWith(':')) return;
        failures.begin(name.join(' > ').slice(0, -1));
        name = undefined;
        return;
      }
      const [, file, line = ''] = PLACE.exec(text) ?? [];
      if (file === undefined) failures.say(text);
      else if (!file.includes('node_modules') && !file.startsWith('node:')) failures.at(file, line);
    },
    report() {
      if (!counts.has('passing')) return undefined;
      const of = (word: string) => counts.get(word) ?? 0;
      return failures.report('mocha', { passed: of('passing'), failed: of('failing'), skipped: of('pending') });
    },
  };
};
