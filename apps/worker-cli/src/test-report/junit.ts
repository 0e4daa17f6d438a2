import { Failures, type TestReport } from './test-report.ts';

const CASE = /<testcase\b([^>]*?)(\/>|>([\s\S]*?)<\/testcase>)/g;
const MOST_CASES = 20_000;

const ENTITIES: Readonly<Record<string, string>> = { lt: '<', gt: '>', amp: '&', quot: '"', apos: "'" };

const unescaped = (text: string): string =>
  text.replace(/&(lt|gt|amp|quot|apos|#10);/g, (_, name: string) => ENTITIES[name] ?? '\n');

const attribute = (attributes: string, name: string): string | undefined => {
  const found = new RegExp(`\\b${name}="([^"]*)"`).exec(attributes)?.[1];
  return found === undefined ? undefined : unescaped(found);
};

const nameOf = (attributes: string): string =>
  [attribute(attributes, 'classname'), attribute(attributes, 'name')].filter(Boolean).join(' > ') || '(no name)';

/** A JUnit file as most runners write it; undefined for another file. No entity is looked up anywhere. */
export const readJunit = (xml: string): TestReport | undefined => {
  if (!/<testsuites?\b/.test(xml)) return undefined;
  const failures = new Failures();
  const counts = { passed: 0, failed: 0, skipped: 0 };
  let cases = 0;
  for (const [, attributes = '', , body = ''] of xml.matchAll(CASE)) {
    cases += 1;
    if (cases > MOST_CASES) break;
    const [, kind, inside = ''] = /<(failure|error|skipped)\b([^>]*)/.exec(body) ?? [];
    if (kind === undefined) counts.passed += 1;
    else if (kind === 'skipped') counts.skipped += 1;
    else {
      counts.failed += 1;
      failures.begin(nameOf(attributes));
      const file = attribute(attributes, 'file');
      if (file !== undefined) failures.at(file, attribute(attributes, 'line') ?? 0);
      failures.say(attribute(inside, 'message') ?? '');
      failures.close();
    }
  }
  return cases === 0 ? undefined : failures.report('junit', counts);
};
