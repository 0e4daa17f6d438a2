import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';

/** A small process that starts programs for the benchmark. */
export class Spawner {
  readonly #child: ChildProcess = fork(fileURLToPath(new URL('spawn-process.ts', import.meta.url)));

  /** Milliseconds of one program. */
  async time(what: 'raw' | 'bare'): Promise<number> {
    const answer = once(this.#child, 'message');
    this.#child.send(what);
    return Number((await answer)[0]);
  }

  stop(): void {
    this.#child.kill('SIGKILL');
  }
}
