import type { Truncation } from '@toolfabric/contract';
import type { Json } from '@toolfabric/kernel';
import { headAtLine, headUnits, tailAtLine, tailStart } from '../summary/cut-text.ts';

export type { Json };

export interface Limits {
  /** Bytes of a string. */
  readonly string: number;
  /** Items of a list. */
  readonly items: number;
  /** Characters of base64. */
  readonly media: number;
}

const NOTE_BYTES = 48;

export interface CutString {
  readonly text: string;
  /** Bytes of the source that stand in it. */
  readonly kept: number;
  /** Bytes of the source. */
  readonly total: number;
}

/** Beginning and end of a string, and how much is left out between; `bytes` at most. */
export const cutString = (source: string, bytes: number): CutString => {
  const total = Buffer.byteLength(source);
  if (total <= bytes) return { text: source, kept: total, total };
  if (bytes <= 2 * NOTE_BYTES) {
    const text = source.slice(0, headUnits(source, bytes));
    return { text, kept: Buffer.byteLength(text), total };
  }
  const room = bytes - NOTE_BYTES;
  const isLong = room > 400;
  const head = source.slice(0, (isLong ? headAtLine : headUnits)(source, Math.ceil(room * 0.6)));
  const tail = source.slice((isLong ? tailAtLine : tailStart)(source, Math.floor(room * 0.4)));
  const kept = Buffer.byteLength(head) + Buffer.byteLength(tail);
  const gap = `[… ${total - kept} bytes left out …]`;
  return {
    text: `${head}${head.endsWith('\n') ? '' : ' '}${gap}${tail.startsWith('\n') ? '' : ' '}${tail}`,
    kept,
    total,
  };
};

const pointerPart = (name: string): string => name.slice(0, 60).replaceAll('~', '~0').replaceAll('/', '~1');

/** A value that keeps its shape with shorter strings and lists; `note` is told of each cut. */
export const shrinkJson = (value: Json, stream: string, limits: Limits, note: (entry: Truncation) => void): Json => {
  if (typeof value === 'string') return shrinkString(value, stream, limits, note);
  if (value === null || typeof value !== 'object') return value;
  if (Array.isArray(value)) {
    const list = value as readonly Json[];
    if (list.length > limits.items) note({ stream, kept: limits.items, total: list.length, unit: 'items' });
    return list.slice(0, limits.items).map((item, index) => shrinkJson(item, `${stream}/${index}`, limits, note));
  }
  const fields = Object.entries(value);
  return Object.fromEntries(
    fields.map(([name, item]) => [name, shrinkJson(item, `${stream}/${pointerPart(name)}`, limits, note)]),
  );
};

const shrinkString = (text: string, stream: string, limits: Limits, note: (entry: Truncation) => void): string => {
  const cut = cutString(text, limits.string);
  if (cut.kept < cut.total) note({ stream, kept: cut.kept, total: cut.total, unit: 'bytes' });
  return cut.text;
};
