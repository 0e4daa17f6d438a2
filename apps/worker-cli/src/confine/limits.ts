/** What one command may take. Compiled once from the configuration; a call may ask for less time only. */
export interface CommandLimits {
  /** Bytes that all processes of the command hold together, its `/tmp` included. */
  readonly memoryBytes: number;
  /** Processes and threads at once. */
  readonly processes: number;
  /** Milliseconds of processor time of all processes together. */
  readonly cpuMs: number;
  /** Bytes of the largest file that may be written. */
  readonly fileBytes: number;
  /** Bytes of the private `/tmp`. */
  readonly tmpBytes: number;
}

/** Which limit ended or hindered a command. */
export const LIMIT_NAMES = ['wall_time', 'cpu_time', 'memory', 'processes', 'disk', 'output'] as const;
export type LimitName = (typeof LIMIT_NAMES)[number];
