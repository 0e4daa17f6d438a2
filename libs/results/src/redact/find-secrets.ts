import { ESCAPE, sourceOffset, stripCodes } from '../terminal-codes.ts';
import { findAssignments } from './assignments.ts';
import { findKeysOfOneLine } from './private-keys.ts';
import { findInRuns } from './runs.ts';
import type { Detector, Span, Window } from './span.ts';
import { mergeSpans, sparingMarks } from './spans.ts';
import { findUrlPasswords } from './url-passwords.ts';

/** Always looked for, by every redactor. */
export const STANDARD_DETECTORS: readonly Detector[] = [
  findKeysOfOneLine,
  findAssignments,
  findUrlPasswords,
  findInRuns,
];

const detect = (window: Window, detectors: readonly Detector[]): Span[] => {
  const found: Span[] = [];
  for (const detector of detectors) detector(window, found);
  return found;
};

/** What stands in the text that a terminal would show, in the places of the source: colours cut no secret in two. */
const detectBetweenCodes = (window: Window, detectors: readonly Detector[]): Span[] => {
  const stripped = stripCodes(window.text);
  const shown = { bytes: Buffer.from(stripped.text, 'latin1'), text: stripped.text, afterWrapped: window.afterWrapped };
  return detect(shown, detectors).map((span) => ({
    ...span,
    value: span.value ?? stripped.text.slice(span.start, span.end),
    start: sourceOffset(stripped, span.start),
    end: sourceOffset(stripped, span.end - 1) + 1,
  }));
};

/** Every secret in a window, in order, none over another, none over a mark. */
export const findSecrets = (window: Window, detectors: readonly Detector[]): Span[] => {
  const found = detect(window, detectors);
  if (window.bytes.indexOf(ESCAPE) >= 0) found.push(...detectBetweenCodes(window, detectors));
  if (found.length === 0) return found;
  return mergeSpans(sparingMarks(window.text, mergeSpans(found)));
};
