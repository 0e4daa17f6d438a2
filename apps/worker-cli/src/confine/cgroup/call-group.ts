/** What one command may take, counted over all of its processes. */
export interface GroupLimits {
  readonly memoryBytes: number;
  readonly processes: number;
}

/** How often the kernel enforced a limit: read from its counters, never guessed from an exit code. */
export interface LimitHits {
  /** Processes that were killed since there was no memory left. */
  readonly memory: number;
  /** Processes that were refused. */
  readonly processes: number;
}

/** The control group of one command. */
export interface CallGroup {
  /** Moves a process in, with all that it starts from then on. */
  add(pid: number): Promise<void>;
  /** Processes that are in it and have not ended. */
  members(): number[];
  hits(): LimitHits;
  cpuMs(): number;
  /** The most that it held at once; undefined where the kernel does not tell. */
  maxMemoryBytes(): number | undefined;
  /** Ends every process in it. */
  kill(): void;
  /** Resolves when it is gone, or when that was tried for long enough; what stays is removed at the next start. */
  remove(): Promise<void>;
}

export interface CallGroups {
  readonly version: 1 | 2;
  /** Makes the group of one command. Not on this thread: the kernel lets whoever makes or removes one wait for a move. */
  create(name: string, limits: GroupLimits): Promise<CallGroup>;
  /**
   * The first process that is moved after a while waits until every processor has passed a quiet point, some ten
   * milliseconds. Asked for while a process is started, that wait is over when that is to be moved. Changes nothing.
   */
  prime(): void;
  /** Processes that may still be started; undefined where nothing says so. */
  freeProcesses(): number | undefined;
  /** Removes the groups of workers that are dead. */
  sweep(): void;
  /** Ends them with the worker. */
  close(): Promise<void>;
}
