import { z } from 'zod';
import type { Piece } from './records.ts';

/** Text that ripgrep could decode, or the bytes that it could not. */
const Text = z.union([z.object({ text: z.string() }), z.object({ bytes: z.string() })]);
const Line = z.object({
  path: Text,
  lines: Text,
  line_number: z.int().nullable(),
  submatches: z.array(z.object({ start: z.int(), end: z.int() })).default([]),
});

const Event = z.discriminatedUnion('type', [
  z.object({ type: z.literal('begin'), data: z.object({ path: Text }) }),
  z.object({ type: z.literal('match'), data: Line }),
  z.object({ type: z.literal('context'), data: Line }),
  z.object({ type: z.literal('end'), data: z.object({ binary_offset: z.int().nullable() }) }),
  z.object({ type: z.literal('summary'), data: z.unknown() }),
]);

export interface SearchLine {
  readonly number: number;
  /** Without its line end; undefined when it was too long to be taken in. */
  readonly bytes: Buffer | undefined;
  /** Byte offsets of the first match. */
  readonly match: { readonly start: number; readonly end: number } | undefined;
}

export type SearchEvent =
  | { readonly type: 'begin'; readonly path: Buffer }
  | { readonly type: 'match' | 'context'; readonly line: SearchLine }
  | { readonly type: 'end'; readonly binary: boolean }
  | { readonly type: 'summary' };

/** Stands after the text in a record of ripgrep, and cannot stand inside of one: there every quote has a backslash. */
export const LINE_NUMBER = /,"line_number":(\d+),/;

const bytesOf = (text: z.infer<typeof Text>): Buffer =>
  'text' in text ? Buffer.from(text.text, 'utf8') : Buffer.from(text.bytes, 'base64');

const withoutLineEnd = (bytes: Buffer): Buffer => {
  const end = bytes.at(-1) === 10 ? bytes.length - (bytes.at(-2) === 13 ? 2 : 1) : bytes.length;
  return bytes.subarray(0, end);
};

const oversizedEvent = (piece: Piece): SearchEvent | undefined => {
  const beginning = piece.bytes.toString('latin1', 0, 40);
  const type = beginning.startsWith('{"type":"match"') ? 'match' : 'context';
  if (!beginning.startsWith(`{"type":"${type}"`)) return undefined;
  return { type, line: { number: Number(piece.found ?? 0), bytes: undefined, match: undefined } };
};

/** One record of `rg --json`; undefined for what is none. */
export const parseEvent = (piece: Piece): SearchEvent | undefined => {
  if (piece.oversized) return oversizedEvent(piece);
  const parsed = Event.safeParse(JSON.parse(piece.bytes.toString('utf8')));
  if (!parsed.success) return undefined;
  const { type, data } = parsed.data;
  if (type === 'begin') return { type, path: bytesOf(data.path) };
  if (type === 'end') return { type, binary: data.binary_offset !== null };
  if (type === 'summary') return { type };
  const line = { number: data.line_number ?? 0, bytes: withoutLineEnd(bytesOf(data.lines)), match: data.submatches[0] };
  return { type, line };
};
