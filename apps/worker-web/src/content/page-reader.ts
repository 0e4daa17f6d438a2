import { Worker } from 'node:worker_threads';
import { FabricError } from '@toolfabric/kernel';
import type { ExtractionReply, ExtractionRequest, Page, Source } from './page.ts';

export interface ReaderOptions {
  /** Pages that are read at once. */
  readonly threads: number;
  /** Pages that wait beside them; one more is refused. */
  readonly waiting: number;
  /** Milliseconds until a new thread is ready; what it reads has its own time from then on. */
  readonly startMs: number;
  /** Milliseconds for the whole way; then the thread is ended and the quick way is tried. */
  readonly deadlineMs: number;
  /** Milliseconds for the quick way. */
  readonly quickMs: number;
  /** MiB of memory of one thread. */
  readonly memoryMb: number;
}

export const READER_OPTIONS: ReaderOptions = {
  threads: 2,
  waiting: 32,
  startMs: 20_000,
  deadlineMs: 5_000,
  quickMs: 3_000,
  memoryMb: 512,
};

/** False once it is; leaves no listener that holds anything back. */
const aborted = (signal: AbortSignal): Promise<false> =>
  new Promise((resolve) => {
    if (signal.aborted) resolve(false);
    else signal.addEventListener('abort', () => resolve(false), { once: true });
  });

/** One thread, and what it is at. */
class Reader {
  readonly #worker: Worker;
  /** Whether it came up; its first message says so. */
  readonly #up: Promise<boolean>;
  #next = 0;
  #isGone = false;

  constructor(memoryMb: number) {
    const worker = new Worker(new URL('extraction-thread.ts', import.meta.url), {
      resourceLimits: { maxOldGenerationSizeMb: memoryMb, stackSizeMb: 8 },
      env: {},
      stdout: true,
      stderr: true,
    });
    worker.unref();
    worker.stdout.resume();
    worker.stderr.resume();
    this.#up = new Promise((resolve) => {
      worker.once('message', () => resolve(true));
      // `exit` follows; without a listener an error would end the process.
      worker.on('error', () => {});
      worker.once('exit', () => {
        this.#isGone = true;
        resolve(false);
      });
    });
    this.#worker = worker;
  }

  get isGone(): boolean {
    return this.#isGone;
  }

  /** Rejects with `overloaded` when it does not come up in time, and with the reason of the signal. */
  async ready(startMs: number, signal: AbortSignal): Promise<void> {
    const late = AbortSignal.timeout(startMs);
    const isUp = await Promise.race([this.#up, aborted(AbortSignal.any([signal, late]))]);
    signal.throwIfAborted();
    if (!isUp) throw new FabricError('overloaded', 'the thread that reads pages did not come up in time');
  }

  /** Undefined where no answer came: the thread is ended then, and of no use any more. */
  async ask(asked: Source, deadlineMs: number, signal: AbortSignal): Promise<Page | undefined> {
    const id = this.#next;
    this.#next += 1;
    const worker = this.#worker;
    const over = AbortSignal.any([signal, AbortSignal.timeout(deadlineMs)]);
    return new Promise((resolve) => {
      const settle = (page: Page | undefined) => {
        worker.off('message', onMessage).off('error', onEnd).off('exit', onEnd);
        over.removeEventListener('abort', onEnd);
        resolve(page);
      };
      const onMessage = (reply: ExtractionReply) => {
        if ('id' in reply && reply.id === id) settle('page' in reply ? reply.page : undefined);
      };
      const onEnd = () => {
        void worker.terminate();
        settle(undefined);
      };
      worker.on('message', onMessage).once('error', onEnd).once('exit', onEnd);
      over.addEventListener('abort', onEnd, { once: true });
      if (over.aborted) return onEnd();
      worker.postMessage({ id, ...asked } satisfies ExtractionRequest);
    });
  }

  end(): void {
    void this.#worker.terminate();
  }
}

/** Reads pages in threads that are ended when a page holds them up or takes too much memory. */
export class PageReader {
  readonly #options: ReaderOptions;
  readonly #idle: Reader[] = [];
  readonly #queue: (() => void)[] = [];
  #running = 0;
  #isClosed = false;

  constructor(options: Partial<ReaderOptions> = {}) {
    this.#options = { ...READER_OPTIONS, ...options };
  }

  /** Rejects with `overloaded` when too many wait or no thread comes up, and with `content_refused` for a page that neither way can read. */
  read(html: string, address: string, signal: AbortSignal): Promise<Page> {
    return this.#inPlace(signal, async () => {
      const { deadlineMs, quickMs } = this.#options;
      const page = await this.#ask({ mode: 'document', html, address }, deadlineMs, signal);
      if (page !== undefined || signal.aborted) return page;
      return this.#ask({ mode: 'text', html, address }, quickMs, signal);
    });
  }

  /** All text of a page, in one pass and without its navigation. */
  readText(html: string, address: string, signal: AbortSignal): Promise<Page> {
    return this.#inPlace(signal, () => this.#ask({ mode: 'text', html, address }, this.#options.quickMs, signal));
  }

  /** The same for a PDF, for which there is one way alone. */
  readPdf(bytes: Uint8Array, signal: AbortSignal): Promise<Page> {
    return this.#inPlace(signal, () => this.#ask({ mode: 'pdf', bytes }, this.#options.deadlineMs, signal));
  }

  close(): void {
    this.#isClosed = true;
    for (const reader of this.#idle.splice(0)) reader.end();
  }

  async #ask(asked: Source, deadlineMs: number, signal: AbortSignal): Promise<Page | undefined> {
    const reader = this.#take();
    try {
      await reader.ready(this.#options.startMs, signal);
    } catch (thrown) {
      reader.end();
      throw thrown;
    }
    const page = await reader.ask(asked, deadlineMs, signal);
    if (page === undefined || this.#isClosed) reader.end();
    else this.#idle.push(reader);
    return page;
  }

  #take(): Reader {
    for (;;) {
      const reader = this.#idle.pop() ?? new Reader(this.#options.memoryMb);
      if (!reader.isGone) return reader;
    }
  }

  async #inPlace(signal: AbortSignal, read: () => Promise<Page | undefined>): Promise<Page> {
    await this.#place(signal);
    try {
      const page = await read();
      signal.throwIfAborted();
      if (page === undefined) throw new FabricError('content_refused', 'it cannot be read within its time and memory');
      return page;
    } finally {
      const next = this.#queue.shift();
      if (next === undefined) this.#running -= 1;
      else next();
    }
  }

  async #place(signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    const { threads, waiting } = this.#options;
    if (this.#running >= threads) {
      if (this.#queue.length >= waiting) throw new FabricError('overloaded', 'too many pages wait to be read');
      return this.#wait(signal);
    }
    this.#running += 1;
  }

  /** Whoever leaves hands the place on, so that `#running` stays as it is. */
  #wait(signal: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      const enter = () => {
        signal.removeEventListener('abort', giveUp);
        resolve();
      };
      const giveUp = () => {
        this.#queue.splice(this.#queue.indexOf(enter), 1);
        reject(signal.reason);
      };
      signal.addEventListener('abort', giveUp, { once: true });
      this.#queue.push(enter);
    });
  }
}
