import { MARK_START, type Marker, markPattern } from './mark.ts';
import type { Span } from './span.ts';

const byPlace = (a: Span, b: Span): number =>
  a.start - b.start || b.end - a.end || Number(b.kind === 'known') - Number(a.kind === 'known');

/** In order; what overlaps becomes one. */
export const mergeSpans = (spans: readonly Span[]): Span[] => {
  const merged: Span[] = [];
  for (const span of [...spans].sort(byPlace)) {
    const last = merged.at(-1);
    if (last === undefined || span.start >= last.end) merged.push(span);
    else if (span.end > last.end) merged[merged.length - 1] = { start: last.start, end: span.end, kind: last.kind };
  }
  return merged;
};

const withoutRange = (span: Span, start: number, end: number): Span[] => {
  if (end <= span.start || start >= span.end) return [span];
  const { kind } = span;
  return [
    { start: span.start, end: start, kind },
    { start: end, end: span.end, kind },
  ].filter((part) => part.end > part.start);
};

/** A mark is never redacted again. */
export const sparingMarks = (text: string, spans: readonly Span[]): readonly Span[] => {
  if (spans.length === 0 || !text.includes(MARK_START)) return spans;
  let spared = [...spans];
  for (const mark of text.matchAll(markPattern()))
    spared = spared.flatMap((span) => withoutRange(span, mark.index, mark.index + mark[0].length));
  return spared;
};

/** `text[from, to)` with marks in the place of the spans, which are in order and lie inside. */
export const applySpans = (text: string, from: number, to: number, spans: readonly Span[], marker: Marker): string => {
  const parts: string[] = [];
  let position = from;
  for (const { start, end, kind, value } of spans) {
    parts.push(text.slice(position, start), marker.mark(kind, value ?? text.slice(start, end)));
    position = end;
  }
  parts.push(text.slice(position, to));
  return parts.join('');
};
