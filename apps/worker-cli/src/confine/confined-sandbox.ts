import { statSync } from 'node:fs';
import type { Server } from 'node:net';
import { FabricError } from '@toolfabric/kernel';
import type { OutputListener, ProcessEnd, RunningProcess } from '../process/run-process.ts';
import type { CallGroup } from './cgroup/call-group.ts';
import type { CompiledSandbox } from './compile-sandbox.ts';
import { type GateCommand, tellBegin, tellCommand, tellHelp, tellLock } from './gate.ts';
import { type Hold, SandboxEnded } from './hold.ts';
import type { LimitName } from './limits.ts';
import { type Census, countSurvivors, groupCensus, namespaceCensus } from './survivors.ts';
import { watchLimits } from './watch-limits.ts';

/** What a sandbox runs, and who listens. */
export interface SandboxRun extends GateCommand {
  readonly onOutput: OutputListener;
  /** Left out, only the beginning of standard error is kept. */
  readonly onErrorOutput?: OutputListener;
  /** Milliseconds from the start of the program. */
  readonly timeMs: number;
  readonly signal: AbortSignal;
  /** The sandbox stands; the program begins when this resolves, and never does when it rejects. */
  readonly ready?: () => Promise<void>;
  /** Runs inside before anything else, and hands over a socket there, which is then given to `use`; it may reject. */
  readonly helper?: { readonly command: readonly string[]; readonly use: (socket: Server) => void };
  /** Looks at the disk from time to time; true ends the command. */
  readonly diskFull?: () => Promise<boolean>;
}

/** A command that began, and its end. */
export interface SandboxEnd {
  readonly end: ProcessEnd;
  /** Each limit that was enforced, by a counter of the kernel or by the worker. */
  readonly limits: ReadonlyMap<LimitName, number>;
  /** Milliseconds of the program alone. */
  readonly durationMs: number;
  readonly cpuMs: number | undefined;
  readonly maxMemoryBytes: number | undefined;
  readonly survivors: number;
  readonly countedBy: Census['by'];
}

/** Milliseconds that a sandbox may take to stand, and its worker to say that the program may begin. */
export const START_MS = 30_000;
/** Milliseconds in which a sandbox that is let go ends by itself. */
const PATIENCE_MS = 1_000;

export const unavailable = (why: string, cause?: unknown): FabricError =>
  new FabricError('sandbox_unavailable', why, { cause });

/** The file that was opened as the lock of the run. */
export interface LockFile {
  readonly path: string;
  readonly dev: number;
  readonly ino: number;
}

export interface SandboxParts {
  readonly process: RunningProcess;
  readonly hold: Hold;
  readonly group: CallGroup | undefined;
  readonly compiled: CompiledSandbox;
  readonly flock: string | undefined;
  readonly lock: LockFile | undefined;
}

export const reasonOf = (signal: AbortSignal): FabricError =>
  signal.reason instanceof FabricError
    ? signal.reason
    : new FabricError('cancelled', 'stopped before the program began');

/** One sandbox for one command: it stands, runs that, and is gone. */
export class ConfinedSandbox {
  readonly #process: RunningProcess;
  readonly #hold: Hold;
  readonly #group: CallGroup | undefined;
  readonly #compiled: CompiledSandbox;
  readonly #flock: string | undefined;
  readonly #lock: LockFile | undefined;
  #namespace = 0;
  #discarded: Promise<void> | undefined;

  constructor({ process, hold, group, compiled, flock, lock }: SandboxParts) {
    this.#process = process;
    this.#hold = hold;
    this.#group = group;
    this.#compiled = compiled;
    this.#flock = flock;
    this.#lock = lock;
  }

  get key(): string {
    return this.#compiled.key;
  }

  /** It has not ended, and its lock still is the one of that file. */
  get isStanding(): boolean {
    return !this.#process.hasEnded && this.#isLockStill();
  }

  #isLockStill(): boolean {
    if (this.#lock === undefined) return true;
    const now = statSync(this.#lock.path, { throwIfNoEntry: false });
    return now?.ino === this.#lock.ino && now.dev === this.#lock.dev;
  }

  /** Puts the sandbox under its limits while it stands still. Throws `SandboxEnded`. */
  async stand(): Promise<void> {
    const { pid, namespace } = await this.#hold.stands();
    this.#namespace = namespace;
    try {
      await this.#group?.add(pid);
    } catch (thrown) {
      if ((thrown as NodeJS.ErrnoException).code === 'ESRCH') throw new SandboxEnded('it ended before it stood');
      throw unavailable('the sandbox could not be put under its limits', thrown);
    }
    this.#hold.release();
  }

  /** Resolves when everything in it is made. Rejects with `SandboxEnded`. */
  isUp(): Promise<void> {
    return this.#hold.said('up');
  }

  /** Why it ended before its program began. */
  wasNotMade(): FabricError {
    const [line = ''] = this.#process.errors().split('\n', 1);
    return unavailable(`the sandbox could not be made: ${line}`);
  }

  /** Whoever has started the sandbox waits for it, so that nothing of it is left to nobody. */
  #end(): void {
    if (this.#group === undefined) return this.#process.kill();
    try {
      this.#group.kill();
    } catch {
      // It has ended by itself, and its group with it.
    }
  }

  /** Ends a sandbox in which nothing has begun. Resolves when nothing of it is left; never rejects. */
  discard(): Promise<void> {
    this.#discarded ??= this.#endByItself();
    return this.#discarded;
  }

  async #endByItself(): Promise<void> {
    this.#hold.letGo();
    const timers = [
      setTimeout(() => this.#end(), PATIENCE_MS),
      setTimeout(() => this.#process.kill(), 2 * PATIENCE_MS),
    ];
    await this.#process.ended;
    for (const timer of timers) clearTimeout(timer);
    await this.#group?.remove();
  }

  /**
   * Runs the command and waits for its end. What `ready` rejected with is thrown, `workspace_busy` when another has the
   * lock, and `SandboxEnded` when the sandbox had ended before the program was let go: in all of these nothing ran.
   */
  async run(run: SandboxRun): Promise<SandboxEnd> {
    const limits = new Map<LimitName, number>();
    const stop = new AbortController();
    try {
      const ending = this.#process.finish({
        ...run,
        ...(this.#group === undefined ? {} : { onEnd: () => this.#end() }),
        timeoutMs: START_MS + run.timeMs,
        signal: AbortSignal.any([run.signal, stop.signal]),
      });
      const { cpuMs } = this.#compiled.limits;
      let thrown: unknown;
      const beginning = this.#letBegin(run).then(
        () => watchLimits({ ...run, group: this.#group, limits, cpuMs }, stop),
        (why: unknown) => {
          thrown = why;
          stop.abort();
        },
      );
      const end = await ending;
      stop.abort();
      await beginning;
      const census = this.#group === undefined ? namespaceCensus(this.#namespace) : groupCensus(this.#group);
      const survivors = await countSurvivors(census);
      if (!this.#hold.began) throw this.#neverBegan(thrown, run.signal);
      this.#enforced(limits);
      return {
        end,
        limits,
        durationMs: this.#hold.durationMs,
        cpuMs: this.#group?.cpuMs(),
        maxMemoryBytes: this.#group?.maxMemoryBytes(),
        survivors,
        countedBy: census.by,
      };
    } finally {
      void this.#group?.remove();
    }
  }

  /** Everything that the program waits for goes on at once; nothing is let go before all of it is there. */
  async #letBegin(run: SandboxRun): Promise<void> {
    if (run.helper !== undefined) await this.#help(run.helper);
    this.#hold.tell(tellCommand(run));
    if (this.#lock !== undefined) this.#hold.tell(tellLock(this.#flock ?? ''));
    const locked = this.#lock === undefined ? this.#hold.said('up') : this.#hold.said('locked');
    await run.ready?.();
    await locked;
    this.#hold.tell(tellBegin());
  }

  /** What is to be there before the program: made inside, by a program of the worker that has ended by then. */
  async #help({ command, use }: NonNullable<SandboxRun['helper']>): Promise<void> {
    const handed = this.#process.handedOver();
    this.#hold.tell(tellHelp(command));
    try {
      use(await handed);
      await this.#hold.said('helped');
    } catch (thrown) {
      throw thrown instanceof FabricError ? thrown : unavailable('no way out of the sandbox could be made', thrown);
    }
  }

  #neverBegan(thrown: unknown, signal: AbortSignal): unknown {
    if (thrown !== undefined && !(thrown instanceof SandboxEnded)) return thrown;
    if (signal.aborted) return reasonOf(signal);
    return thrown ?? this.wasNotMade();
  }

  #enforced(limits: Map<LimitName, number>): void {
    const hits = this.#group?.hits();
    if (hits === undefined) return;
    if (hits.memory > 0) limits.set('memory', hits.memory);
    if (hits.processes > 0) limits.set('processes', hits.processes);
  }
}
