import { describe, expect, it } from 'vitest';
import { LINE_NUMBER, parseEvent } from './events.ts';
import { type Piece, Records } from './records.ts';

const collect = (records: Records, text: string, chunk: number): Piece[] => {
  const bytes = Buffer.from(text);
  const pieces: Piece[] = [];
  for (let at = 0; at < bytes.length; at += chunk) pieces.push(...records.push(bytes.subarray(at, at + chunk)));
  return pieces;
};

describe('records of a stream', () => {
  it.each([1, 2, 3, 7, 100])('the same records whatever the chunks are (%i bytes)', (chunk) => {
    const records = new Records({ separator: 10, limit: 100 });
    const pieces = collect(records, 'one\ntwo\n\nüber\nunfinished', chunk);
    expect(pieces.map(({ bytes }) => bytes.toString())).toEqual(['one', 'two', '', 'über']);
  });

  it.each([1, 5, 64, 1000])(
    'a record over the limit keeps its beginning and what was watched for (%i bytes)',
    (chunk) => {
      const long = `{"type":"match","data":{"path":{"text":"./a"},"lines":{"text":"${'x\\",\\"line_number\\":9,'.repeat(99)}"},"line_number":1234567,"absolute_offset":0}}`;
      const records = new Records({ separator: 10, limit: 64, watch: LINE_NUMBER });
      const [piece, next] = collect(records, `${long}\nnext\n`, chunk) as [Piece, Piece];
      expect(piece).toMatchObject({ oversized: true, found: '1234567' });
      expect(piece.bytes.length).toBe(64);
      expect(next).toMatchObject({ oversized: false, found: undefined });
      expect(parseEvent(piece)).toEqual({
        type: 'match',
        line: { number: 1234567, bytes: undefined, match: undefined },
      });
    },
  );

  it('the watched number is found where it begins before the limit', () => {
    const line = `${'x'.repeat(56)},"line_number":77,"rest":${'y'.repeat(500)}`;
    const [piece] = collect(new Records({ separator: 10, limit: 64, watch: LINE_NUMBER }), `${line}\n`, 8);
    expect(piece?.found).toBe('77');
  });
});
