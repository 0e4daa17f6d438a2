import type { LogPiece } from '@toolfabric/client';
import { describe, expect, it } from 'vitest';
import { createOutput } from '../cli/output.ts';
import { LogPrinter } from './log.ts';

const piece = (data: Uint8Array | string, more: Partial<LogPiece> = {}): LogPiece => ({
  data: Buffer.from(data),
  ...{ cursor: 0, attempt: 1, restarts: 0, dropped: 0, complete: false },
  ...more,
});

const print = (json: boolean, pieces: readonly LogPiece[]) => {
  const told: string[] = [];
  const say = (text: string) => void told.push(text);
  const printer = new LogPrinter(createOutput(json, say, say), say);
  for (const one of pieces) printer.show(one);
  printer.end();
  return told;
};

const CUT = Buffer.from('é').subarray(0, 1);

describe('a log on the command line', () => {
  it('RE-5: says where it began anew, with what was not kept of the log before', () => {
    const later = { attempt: 3, restarts: 1 };
    const told = print(false, [
      piece('one', { dropped: 7, gapAt: 3 }),
      piece(CUT, { dropped: 7, gapAt: 3 }),
      piece('two', later),
      piece('', { ...later, complete: true }),
    ]);
    expect(told.filter((text) => text !== '')).toEqual([
      'one',
      '7 bytes of the log were not kept\n',
      'the log began anew: what follows is that of attempt 3, from its beginning\n',
      'two',
    ]);
  });

  it('as JSON each piece says of which attempt it is', () => {
    const [line = ''] = print(true, [piece('a\u0007', { cursor: 2, attempt: 2, restarts: 1, complete: true })]);
    expect(JSON.parse(line)).toEqual({
      ...{ cursor: 2, attempt: 2, restarts: 1, text: 'a\u0007', dropped: 0, complete: true },
    });
  });
});
