import type { Span } from '../store/byte-store.ts';

/** The whole, a part, or a range that the artifact does not have. */
export type Wanted =
  | { readonly type: 'whole' }
  | { readonly type: 'part'; readonly span: Span }
  | { readonly type: 'none' };

const WHOLE: Wanted = { type: 'whole' };
const NONE: Wanted = { type: 'none' };
const ONE = /^bytes=\s*(\d{0,15})-(\d{0,15})\s*$/;

/**
 * One range of bytes (RFC 9110, 14.2). What is no range of bytes at all is passed over, as the RFC says; several, and
 * one that begins behind the end, are answered with 416.
 */
export const parseRange = (header: string | undefined, size: number): Wanted => {
  if (header === undefined || !/^bytes\s*=/i.test(header)) return WHOLE;
  const [matched, first = '', last = ''] = ONE.exec(header.replace(/^bytes\s*=/i, 'bytes=')) ?? [];
  if (matched === undefined || (first === '' && last === '')) return NONE;
  if (first === '') return part(Math.max(0, size - Number(last)), size);
  const to = last === '' ? size : Math.min(size, Number(last) + 1);
  return last !== '' && Number(last) < Number(first) ? NONE : part(Number(first), to);
};

const part = (from: number, to: number): Wanted => (from < to ? { type: 'part', span: { from, to } } : NONE);
