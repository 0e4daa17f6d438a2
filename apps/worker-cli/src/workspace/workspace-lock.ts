import { constants, type FileHandle, open } from 'node:fs/promises';
import { join } from 'node:path';
import { FabricError } from '@toolfabric/kernel';
import { type ProcessEnd, ProcessNotStarted, type ProcessRequest, runProcess } from '../process/run-process.ts';
import { type HeldFile, ParkedLocks } from './parked-locks.ts';
import { NOBODY } from './workspace-users.ts';

export interface LockRequest {
  /** Directory of the lock files. */
  readonly directory: string;
  readonly name: string;
  /** The program `flock`. */
  readonly flock: string;
  /** Milliseconds to wait for whoever holds it. */
  readonly waitMs: number;
  readonly signal: AbortSignal;
}

/** Exit code that `flock` is told to use when somebody else kept the lock. */
const TAKEN = 75;
const OPEN_OR_CREATE = constants.O_RDWR | constants.O_CREAT | constants.O_NOFOLLOW;
const MOST_NOTE_BYTES = 8 * 1024;

const parked = new ParkedLocks();

/** Held by the processes of a command, by nobody between two of them. */
const runLockOf = (path: string): string => `${path}.run`;

/** A kernel lock that this process holds: kept by a pause, freed by its death (protocol 7 (c)). */
export class WorkspaceLock {
  readonly #file: FileHandle;
  readonly #path: string;
  readonly #takenAt: number;
  #isShared = false;

  constructor(path: string, { file, takenAt }: HeldFile) {
    this.#path = path;
    this.#file = file;
    this.#takenAt = takenAt;
  }

  /**
   * Path of the lock that the processes of a command hold (protocol 7 (c)). Whoever asks for it is about to start some:
   * until they are counted and gone this lock goes back to the kernel, and its next holder waits for that one.
   */
  forRun(): string {
    this.#isShared = true;
    return runLockOf(this.#path);
  }

  /** No process of a command is left. */
  isAloneAgain(): void {
    this.#isShared = false;
  }

  /** What the last holder left: non-empty when it died before it had tidied up. */
  async note(): Promise<string> {
    const { bytesRead, buffer } = await this.#file.read(Buffer.alloc(MOST_NOTE_BYTES), 0, MOST_NOTE_BYTES, 0);
    return buffer.subarray(0, bytesRead).toString('utf8');
  }

  /** Leaves a note for the next holder, in place of the old one. */
  async leave(note: string): Promise<void> {
    await this.#file.truncate(0);
    await this.#file.write(note, 0);
  }

  async release(): Promise<void> {
    if (this.#isShared) await this.#file.close();
    else await parked.release(this.#path, { file: this.#file, takenAt: this.#takenAt });
  }
}

/**
 * Takes the lock and then sees that of the runs free, which it lets go again with its descriptor. Constant; what it is
 * about is passed beside it.
 */
const TAKE = `"$1" -x -w "$2" -E ${TAKEN} 3 && exec "$1" -x -w "$2" -E ${TAKEN} 4`;
const SHELL = '/bin/sh';

const isRoot = (): boolean => process.getuid?.() === 0;

const takeRequest = (request: LockRequest, lock: number, run: number): ProcessRequest => ({
  file: SHELL,
  args: ['-c', TAKE, 'take', request.flock, (request.waitMs / 1000).toFixed(3)],
  env: {},
  user: isRoot() ? NOBODY : undefined,
  descriptors: [lock, run],
  timeoutMs: request.waitMs + 2_000,
  signal: request.signal,
});

const cannotLock = (why: string, cause?: unknown): FabricError =>
  new FabricError('sandbox_unavailable', `the workspace cannot be locked: ${why}`, { cause });

const refuseWith = (end: ProcessEnd): FabricError => {
  if (end.ending === 'aborted') return new FabricError('cancelled', 'stopped while waiting for the workspace');
  if (end.code === TAKEN || end.ending === 'timeout') {
    return new FabricError('workspace_busy', 'another write holds the lock of the workspace', { retryAfterMs: 500 });
  }
  return cannotLock(end.stderr.split('\n', 1)[0] ?? '');
};

/**
 * Takes the lock, waiting at most `waitMs`; throws `workspace_busy`. The program `flock` locks the descriptor that it
 * inherits; the lock belongs to the open file, which this process keeps, so it stays when the program has ended. A lock
 * that is at hand was held here ever since, so that no command of another worker can have begun meanwhile.
 */
export const lockWorkspace = async (request: LockRequest): Promise<WorkspaceLock> => {
  const path = join(request.directory, request.name);
  const atHand = request.signal.aborted ? undefined : parked.take(path);
  if (atHand !== undefined) return new WorkspaceLock(path, atHand);
  const file = await open(path, OPEN_OR_CREATE, 0o600);
  try {
    await using run = await open(runLockOf(path), OPEN_OR_CREATE, 0o600);
    const end = await parked.waitingFor(path, () => runProcess(takeRequest(request, file.fd, run.fd)));
    if (end.ending !== 'exited' || end.code !== 0) throw refuseWith(end);
    return new WorkspaceLock(path, { file, takenAt: performance.now() });
  } catch (thrown) {
    await file.close();
    if (thrown instanceof ProcessNotStarted) throw cannotLock('flock could not be started', thrown);
    throw thrown;
  }
};
