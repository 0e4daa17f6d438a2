import type { Duplex } from 'node:stream';
import { z } from 'zod';
import type { Started } from '../process/run-process.ts';
import { DESCRIPTORS } from './confined-command.ts';

/** The sandbox ended before its program began. */
export class SandboxEnded extends Error {
  override readonly name = 'SandboxEnded';
}

/** What bubblewrap says of the first process of the sandbox, by its number outside. */
const Info = z.object({ 'child-pid': z.int().positive(), 'pid-namespace': z.int().optional() });

const MOST_INFO = 4096;

/** Holds a sandbox back until the worker knows it, and its program until the worker says the word. */
export class Hold {
  #pipes: { gate: Duplex; block: Duplex } | undefined;
  #ended: ((why: Error) => void) | undefined;
  #begunAt: number | undefined;
  #endedAt: number | undefined;
  #namespace = 0;
  #onBegun: () => void = () => {};

  /** Inode of the PID namespace; 0 before it stands. */
  get namespace(): number {
    return this.#namespace;
  }

  /** The gate said that the program begins. */
  get began(): boolean {
    return this.#begunAt !== undefined;
  }

  /** Milliseconds between the begin and the end of the program. */
  get durationMs(): number {
    return this.#begunAt === undefined ? 0 : Math.max(0, (this.#endedAt ?? performance.now()) - this.#begunAt);
  }

  /** Resolves when the sandbox is known; it stands still until `release`. Rejects with `SandboxEnded`. */
  async stands(started: Started): Promise<{ pid: number }> {
    const gate = started.pipe(DESCRIPTORS.gate);
    const block = started.pipe(DESCRIPTORS.block);
    this.#pipes = { gate, block };
    const info = started.pipe(DESCRIPTORS.info);
    for (const pipe of [gate, block, info]) pipe.on('error', () => {});
    gate.on('data', (said: Buffer) => {
      if (this.#begunAt !== undefined || !said.includes('begun')) return;
      this.#begunAt = performance.now();
      this.#onBegun();
    });
    const parsed = Info.parse(JSON.parse(await this.#read(info)));
    this.#namespace = parsed['pid-namespace'] ?? 0;
    return { pid: parsed['child-pid'] };
  }

  #read(info: Duplex): Promise<string> {
    return new Promise((resolve, reject) => {
      let text = '';
      this.#ended = reject;
      info.on('data', (chunk: Buffer) => {
        text += chunk.toString('latin1');
        if (text.includes('}') || text.length > MOST_INFO) resolve(text);
      });
      info.on('close', () => reject(new SandboxEnded('the sandbox ended before it stood')));
    });
  }

  release(): void {
    this.#pipes?.block.end('x');
  }

  /** The word that the gate waits for. */
  begin(): void {
    this.#pipes?.gate.write('go\n');
  }

  /** Resolves when the program begins. */
  begun(): Promise<void> {
    return this.began ? Promise.resolve() : new Promise((resolve) => (this.#onBegun = resolve));
  }

  /** The sandbox has ended. */
  over(): void {
    this.#endedAt ??= performance.now();
    this.#ended?.(new SandboxEnded('the sandbox ended before it stood'));
    this.#onBegun();
  }
}
