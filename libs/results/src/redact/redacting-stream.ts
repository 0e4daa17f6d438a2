import { LineWindows } from '../line-windows.ts';
import { findSecrets } from './find-secrets.ts';
import type { Marker } from './mark.ts';
import { BEGIN_HINT, judgeKeyLine, openingOf } from './private-keys.ts';
import { isWrappedLine } from './runs.ts';
import { ByteWindow, type Detector, type Span, type Window } from './span.ts';
import { applySpans } from './spans.ts';

/**
 * Takes secrets out of a stream of bytes, also those that a chunk border cuts: what is given out does not depend on the
 * chunks. Holds back the line that is not at its end, 80 KiB of it at most, and the lines of an open private key.
 */
export interface RedactingStream {
  /** Bytes that may go on. Shares no memory with what was pushed. */
  push(bytes: Uint8Array): Uint8Array;
  end(): Uint8Array;
}

export interface StreamParts {
  readonly detectors: readonly Detector[];
  readonly marker: Marker;
  onHits(hits: number): void;
}

const SIZES = { line: 65_536, before: 256, after: 16_384 };
/** A mark may bring together what was apart, or set apart what was one word: what was redacted is looked at again. */
const MAX_ROUNDS = 4;
const MAX_KEY_BYTES = 65_536;
/** Characters of base64 below which lines are no key. */
const MIN_BODY = 32;
const NOTHING = new Uint8Array(0);

interface OpenKey {
  /** What stands before the key on its first line. */
  readonly before: string;
  /** The lines so far, given out as they are when they turn out to be none. */
  held: string;
  body: string;
  length: number;
  endsInNewline: boolean;
}

export const createRedactingStream = ({ detectors, marker, onHits }: StreamParts): RedactingStream => {
  let out: Uint8Array[] = [];
  let key: OpenKey | undefined;
  let afterWrapped = false;

  const write = (text: string): void => {
    if (text !== '') out.push(Buffer.from(text, 'latin1'));
  };

  const redactLines = (text: string): string => {
    let current = text;
    for (let round = 0; round < MAX_ROUNDS; round += 1) {
      const window: Window = { bytes: Buffer.from(current, 'latin1'), text: current, afterWrapped };
      const spans = findSecrets(window, detectors);
      if (spans.length === 0) break;
      onHits(spans.length);
      current = applySpans(current, 0, current.length, spans, marker);
    }
    return current;
  };

  const noteWrapped = (lines: Buffer): void => {
    const end = lines.at(-1) === 10 ? lines.length - 1 : lines.length;
    const start = end === 0 ? 0 : lines.lastIndexOf(10, end - 1) + 1;
    afterWrapped = end - start <= 96 && isWrappedLine(lines.toString('latin1', start, end));
  };

  const plainLines = (bytes: Buffer, from: number, to: number): void => {
    if (from >= to) return;
    const view = bytes.subarray(from, to);
    const window = new ByteWindow(view, afterWrapped);
    const spans = findSecrets(window, detectors);
    if (spans.length === 0) out.push(Uint8Array.prototype.slice.call(view));
    else {
      onHits(spans.length);
      write(redactLines(applySpans(window.text, 0, view.length, spans, marker)));
    }
    noteWrapped(view);
  };

  const openKey = (line: string, opening: number): void => {
    key = { before: line.slice(0, opening), held: line, body: '', length: line.length, endsInNewline: true };
  };

  /** One line, which may open a key: files of keys that were joined without a newline between have such lines. */
  const writeLine = (line: string): void => {
    const opening = openingOf(line);
    if (opening < 0) write(redactLines(line));
    else openKey(line, opening);
  };

  /** The key ends: its mark, or its lines when it was none. `lastLine` is the one that ends it, if one does. */
  const closeKey = (lastLine?: { readonly line: string; readonly length: number }): void => {
    const open = key;
    if (open === undefined) return;
    key = undefined;
    afterWrapped = false;
    if (open.body.length < MIN_BODY) {
      write(redactLines(open.held));
      if (lastLine !== undefined) writeLine(lastLine.line);
      return;
    }
    onHits(1);
    const rest = lastLine?.line.slice(lastLine.length) ?? (open.endsInNewline ? '\n' : '');
    writeLine(`${open.before}${marker.mark('private-key', open.body)}${rest}`);
  };

  /** Reads lines into the open key; answers where it ended. */
  const keyLines = (bytes: Buffer, from: number, to: number): number => {
    let position = from;
    while (key !== undefined && position < to) {
      const newline = bytes.subarray(position, to).indexOf(10);
      const end = newline < 0 ? to : position + newline + 1;
      const line = bytes.toString('latin1', position, end);
      const judged = judgeKeyLine(line, key.body === '');
      if (judged.type === 'other' || key.length > MAX_KEY_BYTES) {
        closeKey();
        return position;
      }
      position = end;
      if (judged.type === 'end') closeKey({ line, length: judged.length });
      else {
        key.endsInNewline = newline >= 0;
        if (key.body.length < MIN_BODY) key.held += line;
        if (judged.type === 'body') key.body += judged.body;
        key.length += line.length;
      }
    }
    return position;
  };

  const readLines = (bytes: Buffer, from: number, to: number): void => {
    let position = key === undefined ? from : keyLines(bytes, from, to);
    let search = position;
    while (position < to) {
      const begin = bytes.subarray(search, to).indexOf(BEGIN_HINT);
      if (begin < 0) break;
      const start = bytes.subarray(position, search + begin).lastIndexOf(10) + 1 + position;
      const newline = bytes.subarray(search + begin, to).indexOf(10);
      const end = newline < 0 ? to : search + begin + newline + 1;
      const line = bytes.toString('latin1', start, end);
      const opening = openingOf(line);
      search = end;
      if (opening < 0) continue;
      plainLines(bytes, position, start);
      openKey(line, opening);
      position = keyLines(bytes, end, to);
      search = position;
    }
    plainLines(bytes, position, to);
  };

  const readPart = (bytes: Buffer, context: number, from: number, cut: number, end: number): number => {
    closeKey();
    const view = bytes.subarray(context, end);
    const text = view.toString('latin1');
    const [first, last] = [from - context, cut - context];
    const isHere = ({ start }: Span): boolean => start >= first && start < last;
    const spans = findSecrets({ bytes: view, text, afterWrapped: false }, detectors).filter(isHere);
    const stop = Math.max(last, spans.at(-1)?.end ?? 0);
    onHits(spans.length);
    write(applySpans(text, first, stop, spans, marker));
    afterWrapped = false;
    return context + stop;
  };

  const windows = new LineWindows({ lines: readLines, part: readPart }, SIZES);
  const take = (): Uint8Array => {
    const parts = out;
    out = [];
    return parts.length === 0 ? NOTHING : parts.length === 1 ? (parts[0] ?? NOTHING) : Buffer.concat(parts);
  };

  return {
    push: (bytes) => {
      windows.push(bytes);
      return take();
    },
    end: () => {
      windows.end();
      closeKey();
      return take();
    },
  };
};
