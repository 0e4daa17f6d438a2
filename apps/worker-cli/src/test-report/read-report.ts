import { StringDecoder } from 'node:string_decoder';
import { cargoTest } from './cargo-test.ts';
import { goTest } from './go-test.ts';
import { jest } from './jest.ts';
import { mocha } from './mocha.ts';
import { nodeSpec } from './node-spec.ts';
import { nodeTap } from './node-tap.ts';
import { pytest } from './pytest.ts';
import type { ReportReader, TestReport } from './test-report.ts';
import { vitest } from './vitest.ts';

const READERS: readonly (() => ReportReader)[] = [nodeTap, nodeSpec, vitest, jest, pytest, cargoTest, goTest, mocha];

/** Characters of a line that are looked at. */
const MOST_LINE = 2_048;

/** Colours and other commands to a terminal. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: escape sequences are what it takes out.
const TERMINAL = /\u001b(?:\[[0-?]*[ -/]*[@-~]|\][^\u0007\u001b]*(?:\u0007|\u001b\\)|[@-Z\\-_])/g;

/** Cuts a stream into lines of bounded length. */
class Lines {
  readonly #decoder = new StringDecoder('utf8');
  readonly #take: (line: string) => void;
  #line = '';

  constructor(take: (line: string) => void) {
    this.#take = take;
  }

  push(bytes: Uint8Array): void {
    const text = this.#decoder.write(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength));
    for (let at = 0; at < text.length; ) {
      const newline = text.indexOf('\n', at);
      const end = newline === -1 ? text.length : newline;
      if (this.#line.length < MOST_LINE) this.#line += text.slice(at, Math.min(end, at + MOST_LINE));
      if (newline !== -1) this.#end();
      at = end + 1;
    }
  }

  close(): void {
    if (this.#line !== '') this.#end();
  }

  #end(): void {
    const line = this.#line.replace(TERMINAL, '').replace(/\r$/, '');
    this.#line = '';
    this.#take(line);
  }
}

/** Reads both streams of a test run, which are redacted as they come, for every runner that is known, and gives back the one that found its own. */
export class ReportOfStreams {
  readonly #readers = READERS.map((make) => make());
  readonly #streams: readonly Lines[];

  constructor() {
    const take = (line: string) => {
      for (const reader of this.#readers) reader.line(line);
    };
    this.#streams = [new Lines(take), new Lines(take)];
  }

  stdout = (bytes: Uint8Array): void => this.#streams[0]?.push(bytes);
  stderr = (bytes: Uint8Array): void => this.#streams[1]?.push(bytes);

  end(): TestReport | undefined {
    for (const lines of this.#streams) lines.close();
    return this.#readers.map((reader) => reader.report()).find((report) => report !== undefined);
  }
}
