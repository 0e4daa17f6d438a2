import { once } from 'node:events';
import type { ServerWritableStream } from '@grpc/grpc-js';
import type { CallView } from '@toolfabric/contract';
import { callViewToWire, type Progress, progressToWire, type WatchCallResponse } from '@toolfabric/proto';

const LINES = 64;

type News = { readonly view: CallView } | { readonly line: Progress };

/**
 * What one watcher has still to be sent. Bounded for a watcher that reads slowly: the newest view replaces one that
 * was not sent yet, and the oldest lines of progress fall out.
 */
export class WatchFeed {
  readonly #waiting: News[] = [];
  #wake: () => void = () => {};
  #ended: { readonly error?: unknown } | undefined;

  view(view: CallView): void {
    const older = this.#waiting.findIndex((news) => 'view' in news);
    if (older >= 0) this.#waiting.splice(older, 1);
    this.#waiting.push({ view });
    this.#wake();
  }

  progress(line: Progress): void {
    const lines = this.#waiting.filter((news) => 'line' in news);
    if (lines.length >= LINES && lines[0]) this.#waiting.splice(this.#waiting.indexOf(lines[0]), 1);
    this.#waiting.push({ line });
    this.#wake();
  }

  /** What waits is still sent, unless there is an error. */
  end(error?: unknown): void {
    this.#ended ??= error === undefined ? {} : { error };
    this.#wake();
  }

  get waiting(): number {
    return this.#waiting.length;
  }

  /** Sends until the end, no faster than the watcher reads. Rejects with the error that ended it. */
  async sendTo(out: Pick<ServerWritableStream<unknown, WatchCallResponse>, 'write' | 'once'>, gone: AbortSignal) {
    while (!gone.aborted) {
      if (this.#ended?.error !== undefined) throw this.#ended.error;
      const next = this.#waiting.shift();
      if (next === undefined) {
        if (this.#ended !== undefined) return;
        await this.#news(gone);
      } else if (!out.write(toWire(next))) {
        await once(out as never, 'drain', { signal: gone }).catch(() => {});
      }
    }
  }

  #news(gone: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      const done = () => {
        gone.removeEventListener('abort', done);
        resolve();
      };
      gone.addEventListener('abort', done, { once: true });
      this.#wake = done;
    });
  }
}

const toWire = (news: News): WatchCallResponse => ({
  news:
    'view' in news
      ? { $case: 'call', value: callViewToWire(news.view) }
      : { $case: 'progress', value: progressToWire(news.line) },
});
