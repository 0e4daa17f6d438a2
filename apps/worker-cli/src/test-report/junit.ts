import { Failures, type TestReport } from './test-report.ts';

const OPENS = '<testcase';
const CLOSES = '</testcase>';
const MOST_CASES = 20_000;

interface Case {
  readonly attributes: string;
  readonly body: string;
}

/** Cases one after the other, in one pass: a file full of openings that never close takes no longer than another. */
function* casesOf(xml: string): Generator<Case> {
  for (let at = xml.indexOf(OPENS); at !== -1; at = xml.indexOf(OPENS, at)) {
    const from = at + OPENS.length;
    const end = xml.indexOf('>', from);
    if (end === -1) return;
    at = end + 1;
    if (/\w/.test(xml.charAt(from))) continue;
    const isEmpty = xml[end - 1] === '/';
    const close = isEmpty ? at : xml.indexOf(CLOSES, at);
    if (close === -1) return;
    yield { attributes: xml.slice(from, isEmpty ? end - 1 : end), body: xml.slice(at, close) };
    at = close;
  }
}

const ENTITIES: Readonly<Record<string, string>> = { lt: '<', gt: '>', amp: '&', quot: '"', apos: "'" };

const unescaped = (text: string): string =>
  text.replace(/&(lt|gt|amp|quot|apos|#10);/g, (_, name: string) => ENTITIES[name] ?? '\n');

const attribute = (attributes: string, name: string): string | undefined => {
  const found = new RegExp(`\\b${name}="([^"]*)"`).exec(attributes)?.[1];
  return found === undefined ? undefined : unescaped(found);
};

const nameOf = (attributes: string): string =>
  [attribute(attributes, 'classname'), attribute(attributes, 'name')].filter(Boolean).join(' > ') || '(no name)';

/**
 * A JUnit file as most runners write it; undefined for another file. No entity is looked up anywhere. `redact` takes the
 * secrets out of names and messages before they are cut.
 */
export const readJunit = (xml: string, redact: (text: string) => string): TestReport | undefined => {
  if (!/<testsuites?\b/.test(xml)) return undefined;
  const failures = new Failures();
  const counts = { passed: 0, failed: 0, skipped: 0 };
  let cases = 0;
  for (const { attributes, body } of casesOf(xml)) {
    cases += 1;
    if (cases > MOST_CASES) break;
    const [, kind, inside = ''] = /<(failure|error|skipped)\b([^>]*)/.exec(body) ?? [];
    if (kind === undefined) counts.passed += 1;
    else if (kind === 'skipped') counts.skipped += 1;
    else {
      counts.failed += 1;
      failures.begin(redact(nameOf(attributes)));
      const file = attribute(attributes, 'file');
      if (file !== undefined) failures.at(file, attribute(attributes, 'line') ?? 0);
      failures.say(redact(attribute(inside, 'message') ?? ''));
      failures.close();
    }
  }
  return cases === 0 ? undefined : failures.report('junit', counts);
};
