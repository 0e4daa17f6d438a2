import type { Duplex } from 'node:stream';
import { FabricError } from '@toolfabric/kernel';
import { z } from 'zod';
import type { RunningProcess } from '../process/run-process.ts';
import { DESCRIPTORS, WORDS } from './gate.ts';

/** The sandbox ended before its program began. */
export class SandboxEnded extends Error {
  override readonly name = 'SandboxEnded';
}

/** What bubblewrap says of the first process of the sandbox, by its number outside. */
const Info = z.object({ 'child-pid': z.int().positive(), 'pid-namespace': z.int().optional() });

const MOST_INFO = 4096;

type Word = keyof typeof WORDS;

/** A word that the gate may say; `never` when it cannot say it any more. */
interface Awaited {
  readonly said: Promise<void>;
  resolve(): void;
  reject(why: Error): void;
}

const awaited = (): Awaited => {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  // Not every word is waited for.
  promise.catch(() => {});
  return { said: promise, resolve, reject };
};

const ended = (): SandboxEnded => new SandboxEnded('the sandbox ended before its program began');
const busy = (): FabricError =>
  new FabricError('workspace_busy', 'processes of an earlier command are still there', { retryAfterMs: 500 });

const readInfo = (pipe: Duplex): Promise<string> => {
  const { promise, resolve, reject } = Promise.withResolvers<string>();
  promise.catch(() => {});
  let text = '';
  pipe.on('error', () => {});
  pipe.on('data', (chunk: Buffer) => {
    text += chunk.toString('latin1');
    if (text.includes('}') || text.length > MOST_INFO) resolve(text);
  });
  pipe.on('close', () => reject(ended()));
  return promise;
};

/**
 * Holds a sandbox back until the worker knows it, and its program until the worker says the word. To be made in the step
 * in which the process was started: what a pipe says before somebody listens is lost.
 */
export class Hold {
  readonly #gate: Duplex;
  readonly #block: Duplex;
  readonly #info: Promise<string>;
  readonly #words: Record<Exclude<Word, 'busy'>, Awaited> = {
    up: awaited(),
    locked: awaited(),
    helped: awaited(),
    begun: awaited(),
  };
  #heard = '';
  #begunAt: number | undefined;
  #endedAt: number | undefined;

  constructor(started: Pick<RunningProcess, 'pipe' | 'ended'>) {
    this.#gate = started.pipe(DESCRIPTORS.gate);
    this.#block = started.pipe(DESCRIPTORS.block);
    this.#info = readInfo(started.pipe(DESCRIPTORS.info));
    for (const pipe of [this.#gate, this.#block]) pipe.on('error', () => {});
    this.#gate.on('data', (said: Buffer) => this.#hear(said));
    void started.ended.then(() => this.#over());
  }

  /** The gate said that the program begins. */
  get began(): boolean {
    return this.#begunAt !== undefined;
  }

  /** Milliseconds between the begin and the end of the program. */
  get durationMs(): number {
    return this.#begunAt === undefined ? 0 : Math.max(0, (this.#endedAt ?? performance.now()) - this.#begunAt);
  }

  /**
   * Resolves when the sandbox is known: its first process by the number outside, and the inode of its PID namespace, 0
   * where bubblewrap does not say. It stands still until `release`. Rejects with `SandboxEnded`.
   */
  async stands(): Promise<{ pid: number; namespace: number }> {
    const parsed = Info.parse(JSON.parse(await this.#info));
    return { pid: parsed['child-pid'], namespace: parsed['pid-namespace'] ?? 0 };
  }

  release(): void {
    this.#block.end('x');
  }

  tell(text: string | Buffer): void {
    this.#gate.write(text);
  }

  /** Resolves when the gate says it. Rejects with `SandboxEnded`, and for a lock that another holds with `workspace_busy`. */
  said(word: Exclude<Word, 'busy'>): Promise<void> {
    return this.#words[word].said;
  }

  /** Whatever has not begun never will. */
  letGo(): void {
    for (const pipe of [this.#gate, this.#block]) pipe.destroy();
  }

  /** Lines until the program begins; nobody but the gate holds the descriptor then. */
  #hear(said: Buffer): void {
    if (this.began) return;
    const lines = (this.#heard + said.toString('latin1')).split('\n');
    this.#heard = (lines.pop() ?? '').slice(0, MOST_INFO);
    for (const line of lines) {
      if (line === WORDS.busy) this.#words.locked.reject(busy());
      else if (line === WORDS.up || line === WORDS.locked || line === WORDS.helped) this.#words[line].resolve();
      else if (line === WORDS.begun) this.#begin();
    }
  }

  #begin(): void {
    this.#begunAt ??= performance.now();
    this.#words.begun.resolve();
  }

  #over(): void {
    this.#endedAt ??= performance.now();
    for (const word of Object.values(this.#words)) word.reject(ended());
  }
}
