import { type ChildProcess, spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import type { Job, Load, LoadResult, Target } from './jobs.ts';

const PROGRAM = fileURLToPath(new URL('load-process.ts', import.meta.url));
const LONGEST_JOB_MS = 60_000;

interface Answer {
  readonly ok?: unknown;
  readonly error?: string;
}

/** The coordinator's side of one load process; one job at a time. It ends with the coordinator. */
export class LoadClient {
  readonly #child: ChildProcess;

  constructor() {
    this.#child = spawn(process.execPath, [PROGRAM], { stdio: ['ignore', 'inherit', 'inherit', 'ipc'] });
  }

  get pid(): number {
    return this.#child.pid ?? 0;
  }

  load(target: Target, load: Load): Promise<LoadResult> {
    return this.ask({ type: 'load', target, load }) as Promise<LoadResult>;
  }

  /** Rejects when the job fails, when the process ends, and after a minute. */
  async ask(job: Job): Promise<unknown> {
    const answered = Promise.withResolvers<Answer>();
    const onEnd = () => answered.resolve({ error: 'the load process ended' });
    const timer = setTimeout(() => answered.resolve({ error: 'no answer in time' }), LONGEST_JOB_MS);
    this.#child.once('message', answered.resolve);
    this.#child.once('exit', onEnd);
    this.#child.send(job);
    const answer = await answered.promise;
    clearTimeout(timer);
    this.#child.removeListener('message', answered.resolve);
    this.#child.removeListener('exit', onEnd);
    if (answer.error !== undefined) throw new Error(`${job.type}: ${answer.error}`);
    return answer.ok;
  }

  stop(): void {
    this.#child.kill('SIGKILL');
  }
}
