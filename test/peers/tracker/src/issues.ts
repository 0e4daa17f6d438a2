import { type TrackerComment, TruthLog } from './truth-log.ts';

export interface NewComment {
  readonly issue: number;
  readonly body: string;
  readonly key: string;
  readonly idempotencyKey: string | undefined;
}

/** The issues of one tracker. All that it knows is in its log, so a kill loses nothing. */
export class Issues {
  readonly log: TruthLog;
  dedupe: boolean;
  searchLagMs: number;
  accepts = '';

  constructor(file: string, settings: { dedupe: boolean; searchLagMs: number }) {
    this.log = new TruthLog(file);
    this.dedupe = settings.dedupe;
    this.searchLagMs = settings.searchLagMs;
  }

  #comments(): TrackerComment[] {
    return this.log.lines.filter((line) => line.event === 'comment');
  }

  /** Issues 1 to 9,999 exist. */
  has(issue: number): boolean {
    return issue >= 1 && issue <= 9_999;
  }

  isClosed(issue: number): boolean {
    return this.log.lines.some((line) => line.event === 'closed' && line.issue === issue);
  }

  read(issue: number, now: number) {
    return {
      number: issue,
      title: `Issue ${issue}`,
      state: this.isClosed(issue) ? 'closed' : 'open',
      comments: this.list(issue, undefined, now).length,
    };
  }

  /** The version of an issue: it is another one after each write to it. */
  etag(issue: number): string {
    const writes = this.log.lines.filter((line) => line.event !== 'request' && line.issue === issue);
    return `"${writes.length}"`;
  }

  comment({ issue, body, key, idempotencyKey }: NewComment, now: number): { comment: TrackerComment; isNew: boolean } {
    const earlier =
      this.dedupe && idempotencyKey !== undefined
        ? this.#comments().find((line) => line.idempotencyKey === idempotencyKey)
        : undefined;
    if (earlier) return { comment: earlier, isNew: false };
    const comment: TrackerComment = {
      event: 'comment',
      id: `c${this.#comments().length + 1}`,
      issue,
      body,
      key,
      ...(idempotencyKey === undefined ? {} : { idempotencyKey }),
      at: now,
    };
    this.log.append(comment);
    return { comment, isNew: true };
  }

  close(issue: number, now: number): void {
    if (!this.isClosed(issue)) this.log.append({ event: 'closed', issue, at: now });
  }

  /** `complete` is a promise: nothing that was written up to now is left out. With a lag nothing can be promised. */
  search(issue: number, key: string | undefined, now: number) {
    return { comments: this.list(issue, key, now), complete: this.searchLagMs === 0 };
  }

  /** What a search finds: younger comments than the lag are not visible yet. */
  list(issue: number, key: string | undefined, now: number): TrackerComment[] {
    return this.#comments().filter(
      (line) => line.issue === issue && (key === undefined || line.key === key) && now >= line.at + this.searchLagMs,
    );
  }
}
