import { isUtf8 } from 'node:buffer';
import type { Glob } from '@toolfabric/governance';
import type { Redactor } from '@toolfabric/worker-runtime';
import { jsonBytes } from '../output/json-bytes.ts';
import type { SearchEvent, SearchLine } from './events.ts';
import { workspacePath } from './run-ripgrep.ts';

export interface ShownLine {
  readonly line: number;
  readonly text: string;
  /** False for a line of context. */
  readonly hit: boolean;
  /** Only a part of the line is shown. */
  readonly cut?: true;
}

export interface ShownFile {
  readonly path: string;
  readonly lines: ShownLine[];
}

export interface MatchLimits {
  /** Matching lines that are kept. */
  readonly matches: number;
  /** Bytes of JSON that are kept. */
  readonly bytes: number;
  /** Matching lines that are counted before the search is ended. */
  readonly counted: number;
  /** Lines of context on each side of a match. */
  readonly context: number;
}

/** Characters of one line that are shown. */
const SHOWN_CHARACTERS = 400;
/** Characters before the match, in a line that is cut. */
const LEAD_CHARACTERS = 120;

const windowOf = (text: string, matchAt: number): string => {
  const from = Math.max(0, Math.min(matchAt - LEAD_CHARACTERS, text.length - SHOWN_CHARACTERS));
  return text.slice(from, from + SHOWN_CHARACTERS).toWellFormed();
};

const showLine = ({ number, bytes, match }: SearchLine, hit: boolean, redactor: Redactor): ShownLine => {
  if (bytes === undefined) return { line: number, text: '', hit, cut: true };
  const text = bytes.toString('utf8');
  if (text.length <= SHOWN_CHARACTERS) return { line: number, text, hit };
  // Before it is cut, since half a secret would not be found any more; what is before the match is measured only.
  const matchAt = redactor.text(bytes.toString('utf8', 0, match?.start ?? 0)).length;
  return { line: number, text: windowOf(redactor.text(text), matchAt), hit, cut: true };
};

/** Takes in the events of a search and keeps what fits the limits; counts the rest up to its own limit. */
export class Matches {
  readonly files: ShownFile[] = [];
  /** Matching lines that came, and those that are kept. */
  total = 0;
  kept = 0;
  filesWithMatches = 0;
  /** Files whose rest was passed over as binary. */
  binaryFiles = 0;
  /** What ended the keeping first. */
  full: 'matches' | 'bytes' | undefined;
  readonly #limits: MatchLimits;
  readonly #glob: Glob | undefined;
  readonly #redactor: Redactor;
  #bytes = 0;
  #path: string | undefined;
  #hitsInFile = 0;
  #lastHit = 0;
  #pending: ShownLine[] = [];

  constructor(limits: MatchLimits, glob: Glob | undefined, redactor: Redactor) {
    this.#limits = limits;
    this.#glob = glob;
    this.#redactor = redactor;
  }

  /** False when nothing more needs to come. */
  take(event: SearchEvent): boolean {
    if (event.type === 'begin') this.#begin(event.path);
    if (event.type === 'end') this.#end(event.binary);
    if (this.#path !== undefined && event.type === 'match') this.#match(event.line);
    if (this.#path !== undefined && event.type === 'context') this.#context(event.line);
    return this.total < this.#limits.counted;
  }

  #begin(path: Buffer): void {
    const shown = workspacePath(path.toString('utf8'));
    const wanted = this.#glob === undefined || (isUtf8(path) && this.#glob.matches(shown));
    this.#path = wanted ? shown : undefined;
    this.#hitsInFile = 0;
    this.#lastHit = Number.NEGATIVE_INFINITY;
    this.#pending = [];
  }

  #end(binary: boolean): void {
    if (this.#path !== undefined && binary) this.binaryFiles += 1;
    this.#path = undefined;
  }

  #match(line: SearchLine): void {
    this.total += 1;
    this.#hitsInFile += 1;
    if (this.#hitsInFile === 1) this.filesWithMatches += 1;
    if (this.kept >= this.#limits.matches) this.full ??= 'matches';
    if (this.full !== undefined) return;
    for (const before of this.#pending.splice(0)) this.#keep(before);
    if (this.#keep(showLine(line, true, this.#redactor))) this.kept += 1;
    this.#lastHit = line.number;
  }

  /** What belongs to the last match is kept at once; the rest waits for the next one, which may not be kept. */
  #context(line: SearchLine): void {
    if (this.full !== undefined) return;
    const shown = showLine(line, false, this.#redactor);
    if (line.number <= this.#lastHit + this.#limits.context) this.#keep(shown);
    else this.#pending.push(shown);
  }

  #keep(line: ShownLine): boolean {
    if (this.full === 'bytes') return false;
    const isNew = this.files.at(-1)?.path !== this.#path;
    this.#bytes += jsonBytes(line) + 1 + (isNew ? jsonBytes(this.#path ?? '') + 24 : 0);
    if (this.#bytes > this.#limits.bytes) {
      this.full = 'bytes';
      return false;
    }
    if (isNew) this.files.push({ path: this.#path ?? '', lines: [] });
    this.files.at(-1)?.lines.push(line);
    return true;
  }
}
