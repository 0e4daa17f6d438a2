import { Sha256 } from '@toolfabric/contract';
import { sha256Hex } from '@toolfabric/kernel';
import { z } from 'zod';
import { lost } from './lost.ts';
import type { BytePath, Entry } from './manifest.ts';
import { ManifestHeader as Header, type ManifestHeader } from './manifest.ts';
import { MOST_HEADER_BYTES, MOST_LIST_BYTES } from './snapshot-limits.ts';

/** One line of a list: an entry, or a path that the base has and this snapshot has not. */
export type Line = Entry | { readonly type: 'removed'; readonly path: BytePath };

const toRow = (line: Line): unknown[] => {
  switch (line.type) {
    case 'file':
      return ['f', line.path, line.mode, line.mtime, line.size, line.sha256, line.pack, line.offset];
    case 'directory':
      return ['d', line.path, line.mode];
    case 'link':
      return ['l', line.path, line.target];
    default:
      return ['x', line.path];
  }
};

const Text = z.string().max(4_096);
const Mode = z.int().min(0).max(0o777);
const Whole = z.int().nonnegative();
const Row = z.union([
  z.tuple([z.literal('f'), Text, Mode, z.int(), Whole, Sha256, z.int().min(-1), Whole]),
  z.tuple([z.literal('d'), Text, Mode]),
  z.tuple([z.literal('l'), Text, Text]),
  z.tuple([z.literal('x'), Text]),
]);

const toLine = (row: z.infer<typeof Row>): Line => {
  switch (row[0]) {
    case 'f': {
      const [, path, mode, mtime, size, sha256, pack, offset] = row;
      return { type: 'file', path, mode, mtime, size, sha256, pack, offset };
    }
    case 'd':
      return { type: 'directory', path: row[1], mode: row[2] };
    case 'l':
      return { type: 'link', path: row[1], target: row[2] };
    default:
      return { type: 'removed', path: row[1] };
  }
};

/** `toolfabric-snapshot/1 <bytes of the header> <bytes of the list> <SHA-256 of both>` and a line end, always so long. */
const MAGIC = 'toolfabric-snapshot/1';
const digits = (value: number): string => String(value).padStart(12, '0');
const prefix = (header: number, list: number, sha256: string): string =>
  `${MAGIC} ${digits(header)} ${digits(list)} ${sha256}\n`;
export const PREFIX_BYTES = prefix(0, 0, '0'.repeat(64)).length;
const PREFIX = /^toolfabric-snapshot\/1 (\d{12}) (\d{12}) ([0-9a-f]{64})\n$/;

export interface ListFrame {
  readonly headerBytes: number;
  readonly listBytes: number;
  readonly sha256: string;
}

/** Throws `workspace_lost`. */
export const parsePrefix = (bytes: Buffer): ListFrame => {
  const match = PREFIX.exec(bytes.toString('latin1'));
  if (match === null) throw lost('it is no snapshot');
  const [headerBytes, listBytes] = [Number(match[1]), Number(match[2])];
  if (headerBytes > MOST_HEADER_BYTES || listBytes > MOST_LIST_BYTES) throw lost('its list is too long');
  return { headerBytes, listBytes, sha256: match[3] ?? '' };
};

/** Header and list as they are stored, in front of the inline content. */
export const encodeList = (header: ManifestHeader, lines: Iterable<Line>): { bytes: Buffer; sha256: string } => {
  const rows: string[] = [];
  for (const line of lines) rows.push(JSON.stringify(toRow(line)));
  const head = Buffer.from(`${JSON.stringify(header)}\n`);
  const list = Buffer.from(rows.length === 0 ? '' : `${rows.join('\n')}\n`);
  const sha256 = sha256Hex(Buffer.concat([head, list]));
  return { bytes: Buffer.concat([Buffer.from(prefix(head.length, list.length, sha256)), head, list]), sha256 };
};

/** Checks digest and form of what stands behind the prefix. Throws `workspace_lost`. */
export const decodeList = (
  frame: ListFrame,
  bytes: Buffer,
  mostLines: number,
): { header: ManifestHeader; lines: Line[] } => {
  if (bytes.length !== frame.headerBytes + frame.listBytes) throw lost('its list is cut short');
  if (sha256Hex(bytes) !== frame.sha256) throw lost('its list was changed');
  try {
    const header = Header.parse(JSON.parse(bytes.subarray(0, frame.headerBytes).toString('utf8')));
    return { header, lines: parseLines(bytes.subarray(frame.headerBytes), mostLines) };
  } catch (thrown) {
    throw lost('its list has another form than expected', thrown);
  }
};

const parseLines = (bytes: Buffer, most: number): Line[] => {
  const lines: Line[] = [];
  for (let at = 0; at < bytes.length; ) {
    const end = bytes.indexOf(10, at);
    if (end < 0) throw new Error('a line without an end');
    if (lines.length >= most) throw new Error('too many entries');
    lines.push(toLine(Row.parse(JSON.parse(bytes.subarray(at, end).toString('utf8')))));
    at = end + 1;
  }
  return lines;
};
