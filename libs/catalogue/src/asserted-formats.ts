import type { Format } from 'ajv';
import { fullFormats } from 'ajv-formats/dist/formats.js';
import { MAX_PATTERN_TEXT } from './linear-pattern.ts';

/** Every format that is asserted, with an example for the error message. A format that is not listed is refused. */
export const FORMAT_EXAMPLES = {
  'date-time': '2026-01-31T09:30:00Z',
  date: '2026-01-31',
  time: '09:30:00Z',
  duration: 'PT1H30M',
  email: 'someone@example.com',
  hostname: 'www.example.com',
  ipv4: '192.0.2.1',
  ipv6: '2001:db8::1',
  uri: 'https://example.com/path',
  'uri-reference': '/path?query',
  'uri-template': 'https://example.com/{id}',
  uuid: '0190d3a8-7c1e-7000-8000-000000000000',
  'json-pointer': '/a/0',
  'relative-json-pointer': '1/a',
  regex: '^[a-z]+$',
} as const satisfies Record<string, string>;
export type AssertedFormat = keyof typeof FORMAT_EXAMPLES;

export const isAsserted = (format: unknown): format is AssertedFormat =>
  typeof format === 'string' && Object.hasOwn(FORMAT_EXAMPLES, format);

const testOf = (name: AssertedFormat): ((text: string) => boolean) => {
  const format: unknown = fullFormats[name];
  const check = typeof format === 'object' && format !== null && 'validate' in format ? format.validate : format;
  if (check instanceof RegExp) return (text) => check.test(text);
  if (typeof check === 'function') return (text) => check(text) === true;
  throw new Error(`the format ${name} is not asserted`);
};

/** The formats as the validator takes them; text of more than 4,096 characters has none of them. */
export const assertedFormats = (): Record<string, Format> =>
  Object.fromEntries(
    (Object.keys(FORMAT_EXAMPLES) as AssertedFormat[]).map((name) => {
      const test = testOf(name);
      return [name, (text: string) => text.length <= MAX_PATTERN_TEXT && test(text)];
    }),
  );
