/** What every `start(config)` gives back; `up` and `main.ts` treat all services alike through it. */
export interface RunningService {
  readonly name: string;
  /** Host and port of a front door, where there is one. */
  readonly address?: string;
  /** Stops in the written order of the service; resolves when nothing of it is left. Safe to call twice. */
  stop(): Promise<void>;
  /** Resolves with a reason when the service ended by itself (bus lost for good, life declared dead). */
  readonly failed: Promise<string>;
}
